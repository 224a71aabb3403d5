"""Mutants: deliberately broken versions that the tests must reject."""
