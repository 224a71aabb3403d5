"""Research, which the product never imports: comparisons, reproductions, audits, attacks, made-up data."""
