"""Contribution bounds over a public grid of columns: cells, marginals, contrasts and linear queries."""
