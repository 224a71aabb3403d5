"""Methods: what can be released, each with its request, its stages and its guarantee."""
