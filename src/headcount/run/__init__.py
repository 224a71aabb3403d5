"""One run: from a request through its charge to a release."""
