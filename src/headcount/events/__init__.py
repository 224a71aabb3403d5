"""Event logs: description, catalogue, contexts, conditions, sources, and encoding as integer codes."""
