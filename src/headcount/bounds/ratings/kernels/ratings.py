"""Compiled sums of ratings by item and by item pair, each user clipped to a norm.

Everything up to the one factor that makes a user shorter is worked out in integers, or in floating point in one
fixed order, so that the plain engine gets the same numbers.
"""

from __future__ import annotations

import math

import numpy as np

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import compiled, inlined

ROUNDING_MARGIN = 1 - 2.0**-31  # more than rounding could add


@inlined
def clip(number: int, furthest: int) -> int:
    """Cut a number to lie within what is furthest."""
    return min(max(number, -furthest), furthest)


@compiled
def offset_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int, limit: int, squares: bool,
    usual: int, shy: int, furthest: int, sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last`` to the sums: see :class:`~headcount.bounds.Offsets`."""
    half = 512
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        number = end - begin
        if number == 0:
            continue
        total = 0
        for at in range(begin, end):
            total += values[at]
        mean = (total + shy * usual) // (number + shy)
        length = 0
        for at in range(begin, end):
            residual = clip(values[at] - mean, furthest)
            length += 100 * residual * residual + 81 * half * half if squares else 10 * abs(residual) + 9 * half
        factor = 1.0
        if squares and length > 81 * limit * limit:
            factor = 9.0 * limit / math.sqrt(float(length)) * ROUNDING_MARGIN
        elif not squares and length > 9 * limit:
            factor = 9.0 * limit / length * ROUNDING_MARGIN
        for at in range(begin, end):
            residual = clip(values[at] - mean, furthest)
            item = items[at]
            sums[0, item] += int(factor * residual * 10.0 / 9.0)  # toward zero
            sums[1, item] += int(factor * half)


@compiled
def pair_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int, limit: int, squares: bool,
    usual: int, shy: int, furthest: int, places: Codes, size: int, offsets: Integers, sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last`` to the sums over pairs: see :class:`~headcount.bounds.Pairs`.

    Without offsets every item counts 1.
    """
    kept = np.empty(size, dtype=np.int64)
    at_place = np.empty(size, dtype=np.int64)
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        number = end - begin
        mean = 0
        if offsets.size:
            total = 0
            for at in range(begin, end):
                total += values[at] - offsets[items[at]]
            mean = (total + shy * usual) // (number + shy)
        n_items = 0
        length = before = 0.0
        for at in range(begin, end):
            place = places[items[at]]
            if place < 0:
                continue
            residual = 1024
            if offsets.size:
                residual = clip(values[at] - offsets[items[at]] - mean, furthest)
            weight = float(residual * residual) if squares else float(abs(residual))
            length += weight * before
            before += weight
            at_place[n_items], kept[n_items] = place, residual
            n_items += 1
        allowed = float(limit) * 1048576.0 * ROUNDING_MARGIN
        factor = 1.0
        if squares and length > allowed * allowed:
            factor = math.sqrt(allowed / math.sqrt(length))
        elif not squares and length > allowed:
            factor = math.sqrt(allowed / length)
        for at in range(n_items):
            kept[at] = int(factor * kept[at] / 4.0)  # toward zero
        for at in range(n_items):
            row = at_place[at] * (2 * size - at_place[at] - 1) // 2 - at_place[at] - 1
            for other in range(at + 1, n_items):
                sums[row + at_place[other]] += kept[at] * kept[other]
