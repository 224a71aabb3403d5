"""Attacks on recommendation lists, run in full on ratings whose owner is known to the experiment."""
