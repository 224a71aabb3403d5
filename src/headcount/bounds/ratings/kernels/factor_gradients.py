"""Compiled loops over users' ratings: each user's taste, and what it says of every item that they rated.

A taste is worked out in integers up to the system of equations, and in floating point in one fixed order from
there, so that the plain engine gets the same numbers.
"""

from __future__ import annotations

import math

import numpy as np

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import compiled, inlined
from headcount.bounds.ratings.kernels.ratings import LESS, cut


@inlined
def _solve(table: Integers, sums: Integers, furthest: int, rows: np.ndarray, taste: Integers) -> None:
    """Solve table · taste = sums by elimination, without exchanging rows: the table is positive definite.

    The taste comes in whole units of 1/1024, toward zero.
    """
    size = sums.size
    for one in range(size):
        for other in range(size):
            rows[one, other] = float(table[one, other])
        rows[one, size] = float(sums[one])
    for one in range(size):
        for other in range(one + 1, size):
            part = rows[other, one] / rows[one, one]
            for at in range(one, size + 1):
                rows[other, at] -= part * rows[one, at]
    for one in range(size - 1, -1, -1):
        for other in range(one + 1, size):
            rows[one, size] -= rows[one, other] * rows[other, size]
        rows[one, size] /= rows[one, one]
    for one in range(size):
        taste[one] = int(min(max(1024.0 * rows[one, size], -float(furthest)), float(furthest)))


@compiled
def liking_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int, limit: int, usual: int, shy: int,
    furthest: int, furthest_factor: int, divided: int, places: Codes, factors: Integers, offsets: Integers,
    sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last`` to the sums: see :class:`~headcount.bounds.Likings`."""
    size, depth = factors.shape
    at_place, aways = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    table, known = np.empty((depth, depth), dtype=np.int64), np.empty(depth, dtype=np.int64)
    taste, rows = np.empty(depth, dtype=np.int64), np.empty((depth, depth + 1))
    allowed = limit * LESS
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        total = 0
        for at in range(begin, end):
            total += values[at] - offsets[items[at]]
        mean = (total + shy * usual) // (end - begin + shy)
        many = apart = 0
        table[:], known[:] = 0, 0
        for one in range(depth):
            table[one, one] = 1048576
        for at in range(begin, end):
            place = places[items[at]]
            if place < 0:
                continue
            away = cut(values[at] - offsets[items[at]] - mean, furthest)
            at_place[many], aways[many] = place, away
            many += 1
            apart += away * away
            for one in range(depth):
                known[one] += factors[place, one] * away
                for other in range(depth):
                    table[one, other] += factors[place, one] * factors[place, other]
        _solve(table, known, furthest_factor, rows, taste)
        squares = products = 0
        for one in range(depth):
            squares += taste[one] * taste[one]
            for other in range(one, depth):
                both = taste[one] * taste[other]
                products += both * both
        length = float(squares) * float(apart) + (many / divided) * (many / divided) * float(products)
        factor = 1.0
        if length > allowed * allowed:
            factor = allowed / math.sqrt(length)
        for at in range(many):
            for one in range(depth):
                sums[at_place[at] * depth + one] += int(factor * (aways[at] * taste[one]))  # toward zero
        column = size * depth
        for one in range(depth):
            for other in range(one, depth):
                sums[column] += int(factor * (many * taste[one] * taste[other]) / divided)
                column += 1
