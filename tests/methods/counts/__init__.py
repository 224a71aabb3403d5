"""Tests of headcount.methods.counts."""
