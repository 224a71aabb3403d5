"""Refinement: a second measurement of the items with the largest counts."""
