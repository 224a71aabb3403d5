"""Tests of headcount.lab.as_published."""
