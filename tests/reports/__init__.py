"""Tests of headcount.reports."""
