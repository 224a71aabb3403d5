"""Tests of headcount.bounds.values."""
