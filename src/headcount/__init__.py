"""Headcount: publish what the crowd does, never what one person did."""

__version__ = "0.1.0"
