"""Count methods exactly as their papers run them."""
