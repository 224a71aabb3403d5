"""Synthetic data: event logs generated from a seed, identical on every machine."""
