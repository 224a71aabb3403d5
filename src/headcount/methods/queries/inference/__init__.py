"""Inference from noisy tables: fits, models and the allocation of noise."""
