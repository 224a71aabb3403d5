"""Tests of headcount.accounting."""
