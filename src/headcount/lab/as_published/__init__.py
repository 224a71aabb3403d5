"""Methods as their papers run them: what they claim is not established, and the ledger refuses them."""
