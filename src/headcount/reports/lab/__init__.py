"""Reports of the lab: audits, comparisons, plans and replications."""
