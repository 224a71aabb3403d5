"""Edges given their items: counts per item and context, where counts per item are known better.

An edge is expected to be its item's count times the share of its context among all records. Real edges differ from
that, relatively, with a variance τ² that the noisy edges themselves tell: how much more they scatter than noise
and chance alone would make them. Each edge is then the precision-weighted mean of what is expected and of what was
measured. Large edges keep their own measurement; small ones follow their item. Where records are counted, edges
are made to sum to their item by least squares: what is wanting goes to those that are least certain.

Only released numbers are used.
"""

from __future__ import annotations

import numpy as np

from headcount.answers.shrinkage import Posterior
from headcount.arrays import Floats

_REACH = 2.2  # deviations: a little more than 1.96, since edges scatter more than normally
_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.01, 9.0


def edges_of(items: Posterior, measured: Floats, variance: float | Floats, *, sums: bool) -> Posterior:
    """Return edges, one row an item, from unbiased measurements with noise of that variance.

    ``sums`` says whether the edges of an item sum to its count.

    >>> items = Posterior(np.array([100.0, 10.0]), np.array([90.0, 0.0]), np.array([110.0, 30.0]))
    >>> edges = edges_of(items, np.array([[70.0, 30.0], [-10.0, 20.0]]), 25.0, sums=True)
    >>> edges.mean.sum(axis=1).round(6).tolist(), bool(edges.mean[0, 0] > 60 > 9 > edges.mean[1].max())
    ([100.0, 10.0], True)
    """
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), measured.shape)
    found = np.maximum(measured.sum(axis=0), 0.0)
    whole = float(found.sum() if sums else items.mean.sum())
    shares = found / whole if whole > 0 else np.full(found.size, 1 / found.size)
    expected = np.outer(items.mean, shares)
    spread = _spread(measured - expected, expected, noise) * expected**2 + expected
    kept = spread / (spread + noise)
    mean = np.maximum(expected + kept * (measured - expected), 0.0)
    uncertain = kept * noise
    if sums:
        mean = _summing(mean, uncertain, items.mean)
    above = np.divide(items.high - items.mean, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    below = np.divide(items.low, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    reach = _REACH * np.sqrt(uncertain)
    # a context may have what noise hides of it, and an item taken to be empty what its interval says
    hidden = np.clip(np.sqrt(noise.sum(axis=0)) / max(whole, 1.0) - shares, 0.0, 1.0)
    least = np.outer(items.high, hidden) + np.outer(np.where(items.mean > 0, 0.0, items.high), shares)
    return Posterior(
        mean,
        np.maximum(mean - reach, 0.0) * below[:, None],
        mean + np.maximum(np.sqrt(reach**2 + (mean * above[:, None]) ** 2), least),
    )


def _spread(off: Floats, expected: Floats, noise: Floats) -> float:
    """Return τ², by comparing how far measurements are off with how far noise and chance alone would put them."""
    squares = (expected**2).sum()
    found = ((off**2).sum() - noise.sum() - expected.sum()) / squares if squares > 0 else 0.0
    return float(np.clip(found, _SMALLEST_SPREAD, _LARGEST_SPREAD))


def _summing(edges: Floats, uncertain: Floats, items: Floats) -> Floats:
    """Return edges that sum to their items, and are nowhere negative."""
    missing = items - edges.sum(axis=1)
    whole = uncertain.sum(axis=1)[:, None]
    share = np.divide(uncertain, whole, out=np.full_like(edges, 1 / edges.shape[1]), where=whole > 0)
    moved = np.maximum(edges + share * missing[:, None], 0.0)
    found = moved.sum(axis=1)
    return np.asarray(moved * np.divide(items, found, out=np.zeros_like(items), where=found > 0)[:, None])
