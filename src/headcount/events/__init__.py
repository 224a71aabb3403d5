"""Event logs: where they lie, what their columns mean, and how they become compact codes."""
