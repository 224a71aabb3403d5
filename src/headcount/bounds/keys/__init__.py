"""Contribution bounds of items without a public list."""
