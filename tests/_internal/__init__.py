"""Tests of headcount._internal."""
