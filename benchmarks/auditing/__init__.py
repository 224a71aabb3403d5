"""What audits detect and cost, and the timing side channel of releases."""
