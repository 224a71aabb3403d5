"""Headcount against other libraries at the same job; their own code is in benchmarks.rivals."""
