"""Noise and private selection: the only package that draws protective randomness."""

from headcount.noise.laplace import can_draw, max_drawable_l1, scale_for
from headcount.noise.mechanisms import add_noise, noise_distribution_for, noise_norm
from headcount.noise.randomness import NoiseSource, OperatingSystemNoise, SeededNoise

__all__ = [
    "NoiseSource",
    "OperatingSystemNoise",
    "SeededNoise",
    "add_noise",
    "can_draw",
    "max_drawable_l1",
    "noise_distribution_for",
    "noise_norm",
    "scale_for",
]
