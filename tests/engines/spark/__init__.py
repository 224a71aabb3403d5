"""Tests of headcount.engines.spark."""
