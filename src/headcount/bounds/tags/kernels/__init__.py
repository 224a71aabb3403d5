"""Compiled loops of the bounds of tag assignments."""
