"""The only place where protective noise is drawn."""

from headcount.noise.laplace import can_draw, most_drawn, scale_for
from headcount.noise.mechanisms import add, law_of, norm_of
from headcount.noise.partition_selection.single_key import Chances, chances_for, choose_named, glance
from headcount.noise.partition_selection.threshold import Threshold, select, threshold_for
from headcount.noise.partition_selection.weighted_rounds import Rounds, Sifting, rounds_for
from headcount.noise.randomness import NoiseSource, OperatingSystemNoise, SeededNoise
from headcount.noise.selection.exponential import choose
from headcount.noise.selection.exponential_parallel import choose_together
from headcount.noise.selection.exponential_zcdp import ONE_IN_SIX, SPREAD, scale_of_picks
from headcount.noise.selection.sparse_vector import SparseLaws, SparseVector, sparse_laws, sparse_shares
from headcount.noise.selection.top_k import peel

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
