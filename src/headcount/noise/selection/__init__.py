"""Private selection from a public list of candidates: the exponential family and sparse vector."""
