"""The studio's database, in SQLite or PostgreSQL: accounts, datasets, jobs, releases, audit log."""
