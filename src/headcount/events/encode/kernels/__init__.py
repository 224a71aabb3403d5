"""Compiled loops of ids and hash tables."""
