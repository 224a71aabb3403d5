"""Contribution bounds of tag assignments."""
