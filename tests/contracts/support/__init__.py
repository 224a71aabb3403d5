"""Checks and facts that the contracts share."""
