"""Tests of headcount.ledger.journal."""
