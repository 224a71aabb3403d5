"""Tests of headcount.bounds.tags."""
