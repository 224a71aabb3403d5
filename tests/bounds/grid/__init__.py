"""Tests of headcount.bounds.grid."""
