"""Tests of headcount.cli.service."""
