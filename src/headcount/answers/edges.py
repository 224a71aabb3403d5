"""Edges given their items: counts per item and context, where counts per item are known better.

An edge is expected to be its item's count times the share of its context among all records. Real edges differ from
that, relatively, with a variance τ² that the noisy edges themselves tell: how much more they scatter than their
noise does. Each edge is then the precision-weighted mean of what is expected and of what was measured. Large edges
keep their own measurement; small ones follow their item. Where records are counted, edges are made to sum to their
item by least squares: what is wanting goes to those that are least certain.

Only released numbers are used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.answers.shrinkage import Posterior

Floats = NDArray[np.float64]

_REACH = 2.2  # deviations: a little more than 1.96, since edges scatter more than normally
_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.01, 9.0


def edges_of(items: Posterior, measured: Floats, variance: float, *, sums: bool) -> Posterior:
    """Return edges, one row an item, from unbiased measurements with noise of that variance.

    ``sums`` says whether the edges of an item sum to its count.

    >>> items = Posterior(np.array([100.0, 10.0]), np.array([90.0, 0.0]), np.array([110.0, 30.0]))
    >>> edges = edges_of(items, np.array([[70.0, 30.0], [-10.0, 20.0]]), 25.0, sums=True)
    >>> edges.mean.sum(axis=1).round(6).tolist(), bool(edges.mean[0, 0] > 60 > 9 > edges.mean[1].max())
    ([100.0, 10.0], True)
    """
    shares = np.maximum(measured.sum(axis=0), 0.0)
    whole = shares.sum() if sums else items.mean.sum()
    shares = shares / whole if whole > 0 else np.full(shares.size, 1 / shares.size)
    expected = np.outer(items.mean, shares)
    spread = _spread(measured - expected, expected, variance) * expected**2
    kept = spread / (spread + variance)
    mean = np.maximum(expected + kept * (measured - expected), 0.0)
    uncertain = kept * variance
    if sums:
        mean = _summing(mean, uncertain, items.mean)
    above = np.divide(items.high - items.mean, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    below = np.divide(items.low, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    reach = _REACH * np.sqrt(uncertain)
    least = np.where(items.mean > 0, 0.0, items.high)[:, None] * shares  # of an item that is taken to be empty
    return Posterior(
        mean,
        np.maximum(mean - reach, 0.0) * below[:, None],
        mean + np.maximum(np.sqrt(reach**2 + (mean * above[:, None]) ** 2), least),
    )


def _spread(off: Floats, expected: Floats, variance: float) -> float:
    """Return τ², by comparing how far measurements are off with how far noise alone would put them off."""
    squares = (expected**2).sum()
    found = ((off**2).sum() - off.size * variance) / squares if squares > 0 else 0.0
    return float(np.clip(found, _SMALLEST_SPREAD, _LARGEST_SPREAD))


def _summing(edges: Floats, uncertain: Floats, items: Floats) -> Floats:
    """Return edges that sum to their items, and are nowhere negative."""
    missing = items - edges.sum(axis=1)
    whole = uncertain.sum(axis=1)
    share = np.divide(
        uncertain, whole[:, None], out=np.full_like(edges, 1 / edges.shape[1]), where=whole[:, None] > 0
    )
    moved = np.maximum(edges + share * missing[:, None], 0.0)
    found = moved.sum(axis=1)
    return np.asarray(moved * np.divide(items, found, out=np.zeros_like(items), where=found > 0)[:, None])
