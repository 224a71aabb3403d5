"""Tests of headcount.noise.selection."""
