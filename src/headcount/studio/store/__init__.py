"""What the studio remembers, in SQLite or PostgreSQL: people, datasets, jobs, releases, and who did what."""
