"""Tests of headcount.methods.counts.smoothing."""
