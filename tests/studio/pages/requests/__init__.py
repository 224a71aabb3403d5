"""Tests of headcount.studio.pages.requests."""
