"""Reference implementations of every measurement: slow, obviously right, and what all engines must equal."""
