"""Headcount against its floor, its targets and its rivals: one run, one table (``python -m benchmarks``)."""
