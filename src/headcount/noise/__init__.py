"""The only place where protective noise is drawn."""

from headcount.noise.laplace import add, scale_for
from headcount.noise.source import NoiseSource, OperatingSystemNoise, SeededNoise

__all__ = ["NoiseSource", "OperatingSystemNoise", "SeededNoise", "add", "scale_for"]
