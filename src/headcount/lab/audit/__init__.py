"""Audits: attacks on Headcount's own guarantees, with ε bounds that fail with a stated probability."""
