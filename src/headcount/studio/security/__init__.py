"""Who may do what: passwords, secret tokens, request checks and paths."""
