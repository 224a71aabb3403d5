"""Contribution bounds of numeric values: histograms per group, and totals per user."""
