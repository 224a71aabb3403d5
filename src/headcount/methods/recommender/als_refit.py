"""Refit of item factors by private least squares (one ALS step) from released sums of user factors.

Every person who rated an item has a taste t, worked out from factors that are known already, and gave e stars more
than was expected. If e is the product of t and the item's own factors f, plus chance, then Σ e t = (Σ t t') f and
chance, over those who rated it. The first sum is released for each item, with noise, and the second for all items
together (:class:`~headcount.bounds.Likings`). Between items it differs little but for how many people rated
each. So an item is taken to have the part of it that its support is of all support.

Factors are expected to be as long as those that were known, and drawn towards 0 as far as noise and few people
ask for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

DIVIDED = 256.0  # products of tastes were divided by that
CHANCE = 0.8  # variance of what taste does not explain, in stars²
_LEAST_DEVIATION = 1e-3


def refit_factors(sums: Numbers, deviation: float, support: Numbers, prior_factors: Numbers) -> Numbers:
    """Return the factors of the items that ``support`` is of.

    ``sums`` has Σ e t of each item, and then Σ t t' / 256 as its upper triangle, row by row. All carry noise of
    the same ``deviation``. ``prior_factors`` are the factors that were known, of some items.

    >>> sums, before = np.array([50.0, -20.0, 0.6]), np.array([[0.5], [0.4]])
    >>> refit_factors(sums, 1.0, np.array([80.0, 40.0]), before).round(2).tolist()
    [[0.47], [-0.36]]
    """
    depth = prior_factors.shape[1]
    products = sums[: support.size * depth].reshape(support.size, depth, 1)
    common = _shared(DIVIDED * sums[support.size * depth :], depth) / max(float(support.sum()), 1.0)
    spread = support[:, None, None] * common
    prior_covariance = np.square(prior_factors).mean(axis=0)[:, None] * spread
    residual_covariance = CHANCE * spread + max(deviation, _LEAST_DEVIATION) ** 2 * np.eye(depth)
    factors: Numbers = (
        prior_covariance @ np.linalg.solve(spread @ prior_covariance + residual_covariance, products)
    )[:, :, 0]
    return factors


def _shared(triangle: Numbers, depth: int) -> Numbers:
    """Return the table that a triangle is of; no direction has less than nothing."""
    table = np.zeros((depth, depth))
    table[np.triu_indices(depth)] = triangle
    values, vectors = np.linalg.eigh(table + np.triu(table, 1).T)
    shared: Numbers = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return shared
