"""Tests of headcount.bounds.ratings."""
