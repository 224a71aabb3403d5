"""Compiled sums of factor gradients: each user's factors by least squares, times the rating residuals.

A taste is worked out in integers up to the system of equations, and in floating point in one fixed order from
there, so that the plain engine gets the same numbers.
"""

from __future__ import annotations

import math

import numpy as np

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import compiled, inlined
from headcount.bounds.ratings.kernels.ratings import ROUNDING_MARGIN, clip


@inlined
def _solve(table: Integers, sums: Integers, furthest: int, rows: np.ndarray, taste: Integers) -> None:
    """Solve table · taste = sums by elimination, without exchanging rows: the table is positive definite.

    The taste comes in whole units of 1/1024, toward zero.
    """
    size = sums.size
    for row in range(size):
        for column in range(size):
            rows[row, column] = float(table[row, column])
        rows[row, size] = float(sums[row])
    for row in range(size):
        for column in range(row + 1, size):
            part = rows[column, row] / rows[row, row]
            for at in range(row, size + 1):
                rows[column, at] -= part * rows[row, at]
    for row in range(size - 1, -1, -1):
        for column in range(row + 1, size):
            rows[row, size] -= rows[row, column] * rows[column, size]
        rows[row, size] /= rows[row, row]
    for row in range(size):
        taste[row] = int(min(max(1024.0 * rows[row, size], -float(furthest)), float(furthest)))


@compiled
def factor_gradient_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int, limit: int, usual: int, shy: int,
    furthest: int, furthest_factor: int, divided: int, places: Codes, factors: Integers, offsets: Integers,
    sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last`` to the sums: see :class:`~headcount.bounds.Likings`."""
    size, depth = factors.shape
    at_place, residuals = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    table, right_side = np.empty((depth, depth), dtype=np.int64), np.empty(depth, dtype=np.int64)
    taste, rows = np.empty(depth, dtype=np.int64), np.empty((depth, depth + 1))
    allowed = limit * ROUNDING_MARGIN
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        total = 0
        for at in range(begin, end):
            total += values[at] - offsets[items[at]]
        mean = (total + shy * usual) // (end - begin + shy)
        n_items = squared_residuals = 0
        table[:], right_side[:] = 0, 0
        for k in range(depth):
            table[k, k] = 1048576
        for at in range(begin, end):
            place = places[items[at]]
            if place < 0:
                continue
            residual = clip(values[at] - offsets[items[at]] - mean, furthest)
            at_place[n_items], residuals[n_items] = place, residual
            n_items += 1
            squared_residuals += residual * residual
            for k in range(depth):
                right_side[k] += factors[place, k] * residual
                for m in range(depth):
                    table[k, m] += factors[place, k] * factors[place, m]
        _solve(table, right_side, furthest_factor, rows, taste)
        squares = products = 0
        for k in range(depth):
            squares += taste[k] * taste[k]
            for m in range(k, depth):
                both = taste[k] * taste[m]
                products += both * both
        length = float(squares) * float(squared_residuals) + (n_items / divided) * (n_items / divided) * float(
            products
        )
        factor = 1.0
        if length > allowed * allowed:
            factor = allowed / math.sqrt(length)
        for at in range(n_items):
            for k in range(depth):
                sums[at_place[at] * depth + k] += int(factor * (residuals[at] * taste[k]))  # toward zero
        column = size * depth
        for k in range(depth):
            for m in range(k, depth):
                sums[column] += int(factor * (n_items * taste[k] * taste[m]) / divided)
                column += 1
