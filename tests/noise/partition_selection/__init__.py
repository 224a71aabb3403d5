"""Tests of headcount.noise.partition_selection."""
