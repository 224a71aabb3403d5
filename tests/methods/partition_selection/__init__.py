"""Tests of headcount.methods.partition_selection."""
