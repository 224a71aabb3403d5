"""Tests of headcount.methods.recommender."""
