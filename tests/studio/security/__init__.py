"""Tests of headcount.studio.security."""
