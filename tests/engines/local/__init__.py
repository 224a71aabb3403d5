"""Tests of headcount.engines.local."""
