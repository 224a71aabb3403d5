"""Engines interpret bounds over event logs: the slow obvious one, and the fast ones that equal it."""
