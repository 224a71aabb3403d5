"""Compiled sums of centered co-occurrence over item pairs.

A departure is b x - c g, of which x is short and g the same for all. So what a user adds to a pair is b² where
they have both items, less b c g for each that they have, and c² g g: these are added up apart, and put together
once.
"""

from __future__ import annotations

import math

import numpy as np

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import compiled, inlined


@inlined
def _fits_norm(b: int, c: int, own: Integers, along: int, squares: int, others: int, length: int) -> bool:
    """Say whether b x - c g is short enough; ``others`` is Σ g⁴ over the items that the user does not have."""
    total = b * b * own.size - 2 * b * c * along + c * c * squares
    if total > 2 * length:
        return False
    fourth = c * c * c * c * others
    for g in own:
        residual = b - c * g
        fourth += residual * residual * residual * residual
    return total * total - fourth <= 2 * length * length


@compiled
def centered_cooccurrence_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int,  # noqa: ARG001 - as all over ratings
    places: Codes, common: Integers, length: int, most: int, sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last``: see :class:`~headcount.bounds.Departures`.

    The sums of b² over pairs come first, then those of b c over items, and last that of c².
    """
    size = common.size
    pairs = size * (size - 1) // 2
    squares = fourths = 0
    for g in common:
        squares += g * g
        fourths += g * g * g * g
    at_place, own = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for user in range(first, last):
        n_items = along = 0
        others = fourths
        for at in range(starts[user], starts[user + 1]):
            place = places[items[at]]
            if place >= 0:
                g = common[place]
                at_place[n_items], own[n_items] = place, g
                along += g
                others -= g * g * g * g
                n_items += 1
        if n_items == 0:
            continue
        b, c = most, 0
        left = float(n_items) - (float(along) * float(along) / float(squares) if squares else 0.0)
        if left * most * most > 2.0 * length:  # no larger b will do: the sum of squares is at least left · b²
            b = min(most, int(math.sqrt(2.0 * length / left)) + 1)
        while b > 0:
            c = (2 * b * along + squares) // (2 * squares) if squares else 0
            if _fits_norm(b, c, own[:n_items], along, squares, others, length):
                break
            b -= 1
        if b == 0:
            continue
        sums[pairs + size] += c * c
        for at in range(n_items):
            sums[pairs + at_place[at]] += b * c
            row = at_place[at] * (2 * size - at_place[at] - 1) // 2 - at_place[at] - 1
            for other in range(at + 1, n_items):
                sums[row + at_place[other]] += b * b
