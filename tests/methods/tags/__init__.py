"""Tests of headcount.methods.tags."""
