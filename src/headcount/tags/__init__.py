"""Tags that people gave to resources: a private model of them, and what is read off it."""
