"""Compiled loops of maps, scores and queries: the one place of this package that Numba compiles."""
