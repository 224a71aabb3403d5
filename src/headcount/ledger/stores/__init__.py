"""Where a ledger is kept: SQLite or PostgreSQL, behind one interface."""
