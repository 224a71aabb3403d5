"""Privacy accounting without data: budgets, grants, composition, guarantees and noise distributions."""
