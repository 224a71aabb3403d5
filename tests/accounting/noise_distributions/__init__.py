"""Tests of headcount.accounting.noise_distributions."""
