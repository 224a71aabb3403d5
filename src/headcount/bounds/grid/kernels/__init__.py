"""Compiled loops of linear queries."""
