"""Noise of one selection round of a top K, known without data."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from headcount.accounting.budget import Cost
from headcount.noise.selection.exponential_zcdp import GUMBEL_DEVIATION, SWAP_ONE_IN_SIX, scale_for_picks


class RoundNoise(NamedTuple):
    """Its scale, its standard deviation, and how many people apart two items are that it swaps one time in six."""

    scale: float
    deviation: float
    apart: float


def compute_round_noise(rounds: int, cost: Cost, share: Decimal) -> RoundNoise:
    """Return the noise of each of so many rounds, paid with a share of ε, or of ρ where there is δ.

    >>> compute_round_noise(100, Cost.of("0.5"), Decimal(1)).scale
    200.0
    >>> [round(value, 1) for value in compute_round_noise(100, Cost.of("0.5", "1e-6"), Decimal(1))]
    [43.4, 55.6, 69.8]
    """
    if cost.delta:
        scale = float(scale_for_picks(rounds, 1, cost.rho_of_rounds(rounds) * share))
        return RoundNoise(scale, GUMBEL_DEVIATION * scale, SWAP_ONE_IN_SIX * scale)
    scale = rounds / (float(cost.exact) * float(share))
    return RoundNoise(scale, scale, scale)
