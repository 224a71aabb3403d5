"""Databases as sources: DuckDB, PostgreSQL, SQLite and open connections."""
