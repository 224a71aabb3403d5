"""Tests of headcount.studio.store."""
