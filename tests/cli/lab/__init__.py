"""Tests of headcount.cli.lab."""
