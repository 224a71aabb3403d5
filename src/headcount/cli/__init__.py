"""The command line: flags in, requests to the curator, answers out. No logic of its own."""
