"""Datasets, releases and workers for tests of the studio."""
