"""The samplers, compiled: the one place of this package that Numba compiles."""
