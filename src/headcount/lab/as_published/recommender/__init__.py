"""PNCF as the thesis runs it."""
