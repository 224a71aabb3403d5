"""Data sets to measure on: how each is read, and what stands in for one that cannot be had."""
