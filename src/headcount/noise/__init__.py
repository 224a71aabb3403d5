"""The only place where protective noise is drawn."""

from headcount.noise.choice import choose
from headcount.noise.gaussian import add_gaussian, sigma_for
from headcount.noise.laplace import add, can_draw, most_drawn, scale_for
from headcount.noise.peeling import peel
from headcount.noise.source import NoiseSource, OperatingSystemNoise, SeededNoise
from headcount.noise.sparse_vector import SparseLaws, SparseVector, sparse_laws, sparse_shares
from headcount.noise.threshold import Threshold, select, threshold_for

__all__ = [
    "NoiseSource",
    "OperatingSystemNoise",
    "SeededNoise",
    "SparseLaws",
    "SparseVector",
    "Threshold",
    "add",
    "add_gaussian",
    "can_draw",
    "choose",
    "most_drawn",
    "peel",
    "scale_for",
    "select",
    "sigma_for",
    "sparse_laws",
    "sparse_shares",
    "threshold_for",
]
