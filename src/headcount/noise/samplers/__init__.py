"""Samplers of exact discrete noise, many draws at a time."""
