"""The journal of a ledger: chained entries, their key, the anchor, and verification."""
