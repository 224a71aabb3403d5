"""Tests of headcount.studio.pages.releases."""
