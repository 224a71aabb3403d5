"""Compiled loops of scores."""
