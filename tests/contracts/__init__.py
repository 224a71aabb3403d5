"""What every engine and every method must keep, as checks that run on any subject, sound or broken."""
