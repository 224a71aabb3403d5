"""Compiled kernels of topic models, PriTop and graph ranking."""
