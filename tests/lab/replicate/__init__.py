"""Tests of headcount.lab.replicate."""
