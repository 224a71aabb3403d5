"""Tests of headcount.studio.api."""
