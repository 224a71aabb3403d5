"""Tests of headcount.studio.services."""
