"""The only place where protective noise is drawn."""

from headcount.noise.choice import choose
from headcount.noise.gaussian import add_gaussian, sigma_for
from headcount.noise.laplace import add, can_draw, scale_for
from headcount.noise.peeling import peel
from headcount.noise.source import NoiseSource, OperatingSystemNoise, SeededNoise

__all__ = [
    "NoiseSource",
    "OperatingSystemNoise",
    "SeededNoise",
    "add",
    "add_gaussian",
    "can_draw",
    "choose",
    "peel",
    "scale_for",
    "sigma_for",
]
