"""What pages of curators show, as plain values: steps of a dataset, budgets, plans and runs in words."""
