"""The only place where protective noise is drawn."""

from headcount.noise.adding import add, law_of, norm_of
from headcount.noise.choice import choose
from headcount.noise.few import Chances, chances_for, choose_named, glance
from headcount.noise.laplace import can_draw, most_drawn, scale_for
from headcount.noise.peeling import peel
from headcount.noise.picking import ONE_IN_SIX, SPREAD, scale_of_picks
from headcount.noise.sifting import Rounds, Sifting, rounds_for
from headcount.noise.source import NoiseSource, OperatingSystemNoise, SeededNoise
from headcount.noise.sparse_vector import SparseLaws, SparseVector, sparse_laws, sparse_shares
from headcount.noise.threshold import Threshold, select, threshold_for
from headcount.noise.together import choose_together

__all__ = [
    "ONE_IN_SIX",
    "SPREAD",
    "Chances",
    "NoiseSource",
    "OperatingSystemNoise",
    "Rounds",
    "SeededNoise",
    "Sifting",
    "SparseLaws",
    "SparseVector",
    "Threshold",
    "add",
    "can_draw",
    "chances_for",
    "choose",
    "choose_named",
    "choose_together",
    "glance",
    "law_of",
    "most_drawn",
    "norm_of",
    "peel",
    "rounds_for",
    "scale_for",
    "scale_of_picks",
    "select",
    "sparse_laws",
    "sparse_shares",
    "threshold_for",
]
