"""The commands of the lab: audits, attacks, comparisons, plans and replications."""
