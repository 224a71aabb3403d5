"""Exploration of a release: search, sort, compare, profile and download."""
