"""Tests of headcount.api."""
