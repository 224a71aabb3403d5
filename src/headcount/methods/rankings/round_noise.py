"""The noise of a round, were all places of a ranking peeled off: known without data."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from headcount.accounting.budget import Price
from headcount.noise import ONE_IN_SIX, SPREAD, scale_of_picks


class Round(NamedTuple):
    """Its scale, its standard deviation, and how many people apart two items are that it swaps one time in six."""

    scale: float
    deviation: float
    apart: float


def round_of(rounds: int, price: Price, share: Decimal) -> Round:
    """Return the noise of each of so many rounds, paid with a share of ε, or of ρ where there is δ.

    >>> round_of(100, Price.of("0.5"), Decimal(1)).scale
    200.0
    >>> [round(each, 1) for each in round_of(100, Price.of("0.5", "1e-6"), Decimal(1))]
    [43.4, 55.6, 69.8]
    """
    if price.delta:
        scale = float(scale_of_picks(rounds, 1, price.rho_of_rounds(rounds) * share))
        return Round(scale, SPREAD * scale, ONE_IN_SIX * scale)
    scale = rounds / (float(price.exact) * float(share))
    return Round(scale, scale, scale)
