"""Tests of headcount.adaptive."""
