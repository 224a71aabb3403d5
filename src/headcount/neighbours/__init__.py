"""Recommendation from ratings: plain neighbourhood methods, the published private ones, and a proven one."""
