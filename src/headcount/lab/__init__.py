"""Research code that the product never imports: comparisons, replications, audits, attacks, synthetic data."""
