"""Tests of headcount.bounds.keys."""
