"""Tests of headcount.events."""
