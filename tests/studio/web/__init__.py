"""Tests of headcount.studio.web."""
