"""Tests of headcount.methods.totals."""
