"""Errors of a method that are known before a release, from public figures."""
