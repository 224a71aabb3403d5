"""Tests of headcount.lab.synthetic."""
