"""Tests of headcount.ledger.stores."""
