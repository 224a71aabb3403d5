"""Attacks on what recommenders hand out, mounted in full on ratings whose owner is known."""
