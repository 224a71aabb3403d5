"""Tests of headcount.methods."""
