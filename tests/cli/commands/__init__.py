"""Tests of headcount.cli.commands."""
