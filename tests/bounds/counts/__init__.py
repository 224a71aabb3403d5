"""Tests of headcount.bounds.counts."""
