"""Compiled loops of packing."""
