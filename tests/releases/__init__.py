"""Tests of headcount.releases."""
