"""Tests of headcount.lab.plan."""
