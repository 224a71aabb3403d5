"""Tests of headcount.bounds.scores."""
