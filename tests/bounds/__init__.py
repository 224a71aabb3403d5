"""Tests of headcount.bounds."""
