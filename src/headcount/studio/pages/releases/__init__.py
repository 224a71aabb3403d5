"""Pages about one release."""
