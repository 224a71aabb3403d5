"""Compiled loops of the local engine, and nothing else: the one place of this package that Numba compiles."""
