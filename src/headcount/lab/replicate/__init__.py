"""Replications of papers' experiments: claims written down before a run, settings, verdicts and pages."""
