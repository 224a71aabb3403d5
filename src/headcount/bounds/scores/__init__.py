"""Scores of the candidates of a private choice, with how far one user moves them."""
