"""Tests of headcount.lab.attack."""
