"""The only place where protective noise is drawn."""

from headcount.noise.laplace import add
from headcount.noise.source import NoiseSource, OperatingSystemNoise, SeededNoise

__all__ = ["NoiseSource", "OperatingSystemNoise", "SeededNoise", "add"]
