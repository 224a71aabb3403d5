"""Value range: found privately in a noisy histogram over signed powers of two.

Each person weighs one record in all, divided evenly among their records, and these weights are added up in cells
whose borders are public: between powers of two, above and below zero. The range goes from the lowest cell that is
clearly above its noise to the highest one. Values beyond it are cut to its ends.

Why it is private
    One person moves all weights by at most 1 in L1: discrete Laplace noise of scale 1 / ε pays for that. The range
    follows from the noisy weights, which cells there are from ε, the limit and public constants. There always is a
    range, whatever the values: where no cell is above the noise, it is the one with the largest noisy weight.

Reference
    docs/totals.md
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from headcount.accounting.budget import Cost
from headcount.bounds import Noisy
from headcount.bounds.values.user_totals import MAX_EXACT, FixedRange, finest_unit
from headcount.bounds.values.value_histograms import UserValues, ValueGrid
from headcount.errors import UsageError, param

Range = tuple[Decimal, Decimal]

_SMALLEST, _LARGEST = -8, 52  # powers of two
_RISK = 0.001  # that noise alone widens a range: that would spoil the sum


def range_ends(limit: int, cost: Cost) -> tuple[Decimal, ...]:
    """Return the ends that a range may have, as far out as the noise of a sum can be drawn at a price.

    >>> [f"{end:f}" for end in range_ends(50, Cost.of("1"))[-3:]]
    ['4194304', '8388608', '16777216']
    """
    powers = [Decimal(2) ** exponent for exponent in range(_SMALLEST, _LARGEST + 1)]
    drawn = [power for power in powers if finest_unit(limit, -power, power, cost.exact)]
    if not drawn or finest_unit(limit, Decimal(0), powers[0], cost.exact) != 1 << 16:
        raise UsageError(
            f"the noise for sums of {limit:,} values of each person is more than can be drawn",
            remedy="raise epsilon, or lower the limit",
        )
    return (*(-power for power in reversed(drawn)), Decimal(0), *drawn)


def range_bound(ends: tuple[Decimal, ...]) -> UserValues:
    """Return what is measured of values: in cells between the ends, the outer ones open."""
    return UserValues(1, ValueGrid(tuple(float(end) for end in ends[1:-1])))


def estimate_range(ends: tuple[Decimal, ...], noisy: Noisy) -> Range:
    """Return the range of all cells that are clearly above their noise; up to zero where that is near."""
    weights = noisy.counts.ravel()
    enough = noisy.distribution.half_width(1 - 2 * _RISK / weights.size)
    clear = np.flatnonzero(weights > enough)
    if clear.size == 0:
        clear = np.array([weights.argmax()])
    low, high = ends[clear[0]], ends[clear[-1] + 1]
    if 0 < low <= high / 4:
        low = Decimal(0)
    if low / 4 <= high < 0:
        high = Decimal(0)
    return low, high


def fixed_range(ends: Range, limit: int, cost: Cost) -> FixedRange:
    """Return a range in fixed point, as fine as the noise of a sum of values can be drawn at a price.

    >>> fixed_range((Decimal(1), Decimal(5)), 50, Cost.of("1")).middle
    196608
    """
    low, high = ends
    unit = finest_unit(limit, low, high, cost.exact)
    if max(-low, high) > MAX_EXACT:
        raise UsageError(
            f"values from {low} to {high} are too large to be told apart",
            remedy=f"they must lie between -{MAX_EXACT:,} and {MAX_EXACT:,}; write them in thousands, or as "
            "distances from some public number",
        )
    if unit is None:
        raise UsageError(
            f"the noise for values from {low} to {high} is more than can be drawn",
            remedy=f"raise epsilon, lower the limit or narrow {param.value_range}; or write values in thousands",
        )
    within = FixedRange.rounded(low, high, unit)
    if within.half_width < 1:
        raise UsageError(
            f"{param.value_range(f'{low},{high}')} is narrower than values are counted",
            remedy="write values in thousandths",
        )
    return within
