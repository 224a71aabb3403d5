"""Releases: the folder, the value, and post-processing of released numbers."""
