"""Tests of headcount.lab.tags."""
