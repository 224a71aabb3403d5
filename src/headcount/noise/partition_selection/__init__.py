"""Partition selection: which keys of a private list have enough users."""
