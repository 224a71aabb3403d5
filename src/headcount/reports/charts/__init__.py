"""Charts from released tables, and their look."""
