"""Compiled loops over the bytes of a log, and nothing else: the one place of this package that Numba compiles."""
