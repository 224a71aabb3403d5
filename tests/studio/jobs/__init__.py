"""Tests of headcount.studio.jobs."""
