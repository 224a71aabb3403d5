"""The commands of a service: the ledger and the studio."""
