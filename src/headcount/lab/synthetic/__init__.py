"""Made-up data: logs of people who never lived, the same for the same seed on every machine."""
