"""Tests of headcount.engines.local.measures."""
