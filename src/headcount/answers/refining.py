"""Factors of items fitted anew, by private least squares: from released sums of what people's tastes add.

Every person who rated an item has a taste t, worked out from factors that are known already, and gave e stars more
than was expected. If e is the product of t and the item's own factors f, plus chance, then Σ e t = (Σ t t') f and
chance. Both sums are released, with noise (:class:`~headcount.bounding.Likings`).

The second has many numbers for each item, which differ little between items but for how many people rated them.
So it is taken to be the item's own trace times what is common to all items, which noise hardly moves. Factors are
then expected to be as long as those that were known, and drawn towards 0 as far as noise and few people ask for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

QUARTER = 0.25  # what products of tastes were multiplied by
CHANCE = 0.8  # variance of what taste does not explain, in stars²
CLEARLY = 3.0  # an item has factors if its trace is so many deviations of its noise above 0
_LEAST_DEVIATION = 1e-3


def refined(sums: Numbers, deviation: float, before: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """Return which items have factors, as rows of the sums, and these.

    ``sums`` has a row for each item: Σ e t, and a quarter of Σ t t' as its upper triangle, row by row.

    >>> rows, factors = refined(np.array([[50.0, 25.0], [-20.0, 12.5], [0.1, 0.1]]), 1.0, np.array([[0.5], [0.4]]))
    >>> rows.tolist(), factors.round(2).tolist()
    ([0, 1], [[0.48], [-0.37]])
    """
    depth = before.shape[1]
    deviation = max(deviation, _LEAST_DEVIATION)
    one, other = np.triu_indices(depth)
    squares = np.zeros((len(sums), depth, depth))
    squares[:, one, other] = squares[:, other, one] = sums[:, depth:] / QUARTER
    traces = np.trace(squares, axis1=1, axis2=2)
    rows = np.flatnonzero(traces > CLEARLY * deviation / QUARTER * depth**0.5)
    spread = traces[rows, None, None] * _common(squares.sum(axis=0))
    towards = np.square(before).mean(axis=0)[:, None] * spread
    doubt = CHANCE * spread + deviation**2 * np.eye(depth)
    told = np.linalg.solve(spread @ towards + doubt, sums[rows, :depth, None])
    factors: Numbers = (towards @ told)[:, :, 0]
    return rows, factors


def _common(table: Numbers) -> Numbers:
    """Return what is common to all items, of trace 1; no direction has less than nothing."""
    values, vectors = np.linalg.eigh(table)
    values = np.maximum(values, 0.0)
    if not values.any():
        values = np.ones(values.size)
    common: Numbers = (vectors * (values / values.sum())) @ vectors.T
    return common
