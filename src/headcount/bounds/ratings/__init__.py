"""Contribution bounds of ratings and of items that users have in common."""
