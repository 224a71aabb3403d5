"""Compiled loops that several bounds share: users' histories, keys and random words."""
