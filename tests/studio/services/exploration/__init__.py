"""Tests of headcount.studio.services.exploration."""
