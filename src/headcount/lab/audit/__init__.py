"""Audits: attacks on Headcount's own promises, with bounds that fail with a stated probability."""
