"""Compiled loops of the bounds of counts."""
