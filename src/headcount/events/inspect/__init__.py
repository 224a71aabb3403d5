"""Inspection of raw logs for the curator alone: what counts, what does not, and suggestions."""
