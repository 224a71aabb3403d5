"""The pages of a replication."""
