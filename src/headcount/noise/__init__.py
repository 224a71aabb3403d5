"""Noise and private selection: the only package that draws protective randomness."""

from headcount.noise.laplace import can_draw, max_drawable_l1, scale_for
from headcount.noise.mechanisms import add_noise, noise_distribution_for, noise_norm
from headcount.noise.partition_selection.single_key import (
    ReleaseProbabilities,
    release_key_hints,
    release_probabilities_for,
    select_keys,
)
from headcount.noise.partition_selection.threshold import Threshold, select_by_threshold, threshold_for
from headcount.noise.partition_selection.weighted_rounds import SelectionRounds, WeightedSelection, plan_rounds
from headcount.noise.randomness import NoiseSource, OperatingSystemNoise, SeededNoise
from headcount.noise.selection.exponential import choose_candidate
from headcount.noise.selection.exponential_parallel import choose_in_parallel
from headcount.noise.selection.exponential_zcdp import GUMBEL_DEVIATION, SWAP_ONE_IN_SIX, scale_for_picks
from headcount.noise.selection.sparse_vector import (
    SparseVector,
    SparseVectorNoise,
    sparse_vector_noise,
    sparse_vector_split,
)
from headcount.noise.selection.top_k import choose_top_k

__all__ = [
    "GUMBEL_DEVIATION",
    "SWAP_ONE_IN_SIX",
    "NoiseSource",
    "OperatingSystemNoise",
    "ReleaseProbabilities",
    "SeededNoise",
    "SelectionRounds",
    "SparseVector",
    "SparseVectorNoise",
    "Threshold",
    "WeightedSelection",
    "add_noise",
    "can_draw",
    "choose_candidate",
    "choose_in_parallel",
    "choose_top_k",
    "max_drawable_l1",
    "noise_distribution_for",
    "noise_norm",
    "plan_rounds",
    "release_key_hints",
    "release_probabilities_for",
    "scale_for",
    "scale_for_picks",
    "select_by_threshold",
    "select_keys",
    "sparse_vector_noise",
    "sparse_vector_split",
    "threshold_for",
]
