"""Methods that release item counts and item-by-context counts."""
