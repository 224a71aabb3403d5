"""Compiled loops of the bounds of ratings."""
