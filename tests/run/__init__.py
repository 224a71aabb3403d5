"""Tests of headcount.run."""
