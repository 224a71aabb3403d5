"""Tests of headcount.methods.rankings."""
