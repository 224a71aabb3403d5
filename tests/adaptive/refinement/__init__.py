"""Tests of headcount.adaptive.refinement."""
