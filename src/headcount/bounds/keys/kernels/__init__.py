"""Compiled loops of the bounds of items without a public list."""
