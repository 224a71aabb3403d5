"""Compiled samplers in integer arithmetic."""
