"""Tests of headcount.studio.pages."""
