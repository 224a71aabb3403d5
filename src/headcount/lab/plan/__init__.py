"""Plans: the expected errors of methods, from public figures alone."""
