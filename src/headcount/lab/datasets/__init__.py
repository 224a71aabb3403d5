"""Data sets for experiments: how each is read, and the synthetic stand-in for one that is not available."""
