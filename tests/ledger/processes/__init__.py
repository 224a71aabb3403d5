"""Ledgers under many processes and kills."""
