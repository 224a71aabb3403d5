"""Support code that many tests share: small logs, distributions, servers and processes."""
