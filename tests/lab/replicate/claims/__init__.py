"""Tests of headcount.lab.replicate.claims."""
