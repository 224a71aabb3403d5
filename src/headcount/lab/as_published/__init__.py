"""Methods exactly as their papers run them: guarantees are unproven, and ledgers refuse them."""
