"""Tests of headcount.noise.samplers."""
