"""Contracts of reading: the meaning of a row depends on that row alone."""
