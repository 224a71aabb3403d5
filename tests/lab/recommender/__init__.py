"""Tests of headcount.lab.recommender."""
