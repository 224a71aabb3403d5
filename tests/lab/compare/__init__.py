"""Tests of headcount.lab.compare."""
