"""Contracts of engines, methods and mechanisms: checks that accept any subject, sound or mutant."""
