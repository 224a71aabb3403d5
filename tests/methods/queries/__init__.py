"""Tests of headcount.methods.queries."""
