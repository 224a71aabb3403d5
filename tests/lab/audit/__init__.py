"""Tests of headcount.lab.audit."""
