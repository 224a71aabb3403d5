"""Tests of headcount.bounds.counts.kernels."""
