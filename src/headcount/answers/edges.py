"""Edges given their items: counts per item and context, where counts per item are known better.

An edge is expected to be its item's count times the share of its context. Real edges differ from that, relatively,
in two ways: all edges of an item together, since its count is off (variance σ²), and each by itself (variance τ²).
How much, the noisy edges tell: by how much more they scatter than noise and chance alone would make them, and by
how much those of an item scatter together. So an edge borrows from its item, from the other contexts of that item,
and from how other items spread over contexts. Large edges keep their measurement; small ones follow their item.
Where records are counted, edges are made to sum to their item by least squares: what is wanting goes to those that
are least certain.

Only released numbers are used.

Reference
    B. Efron, C. Morris. Stein's Estimation Rule and its Competitors. Journal of the American Statistical
    Association, 1973: shrinkage towards what is expected, with spreads that the data tells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount.answers.shrinkage import Posterior
from headcount.arrays import Floats

_REACH = 2.2  # deviations: a little more than 1.96, since edges scatter more than normally
_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.01, 9.0
_STEPS = 3  # in which shares and what is expected settle
_USUAL_SPREAD = 0.3  # τ² before it is known: only how much items of different sizes say of the shares hangs on it


class _Spreads(NamedTuple):
    """How far edges are from what is expected, relatively: each by itself (τ²), all of an item together (σ²)."""

    own: float
    together: float


def edges_of(items: Posterior, measured: Floats, variance: float | Floats, *, sums: bool) -> Posterior:
    """Return edges, one row an item, from unbiased measurements with noise of that variance.

    ``sums`` says whether the edges of an item sum to its count.

    >>> items = Posterior(np.array([100.0, 10.0]), np.array([90.0, 0.0]), np.array([110.0, 30.0]))
    >>> edges = edges_of(items, np.array([[70.0, 30.0], [-10.0, 20.0]]), 25.0, sums=True)
    >>> edges.mean.sum(axis=1).round(6).tolist(), edges.mean[0].round().tolist()
    ([100.0, 10.0], [69.0, 31.0])
    """
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), measured.shape)
    shares = shares_of(items.mean, measured, noise)
    expected = np.outer(items.mean, shares)
    off = measured - expected
    spreads = _spreads(off, expected, noise, together=not sums)
    alone = spreads.own * expected**2 + expected
    kept = np.divide(alone, alone + noise, out=np.ones_like(alone), where=alone + noise > 0)
    moved, unsure = _moved(off, expected, alone + noise, spreads.together)
    left = expected * (1 - kept)
    mean = np.maximum(expected + kept * off + left * moved[:, None], 0.0)
    uncertain = kept * noise + left**2 * unsure[:, None]
    if sums:
        mean = _summing(mean, uncertain, items.mean)
    above = np.divide(items.high - items.mean, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    below = np.divide(items.low, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    reach = _REACH * np.sqrt(uncertain)
    # an item that has as much as it may have has edges that scatter as much more
    highest = np.outer(items.high, shares)
    scatter = spreads.own * highest**2 + highest
    further = np.divide(scatter * noise, scatter + noise, out=np.zeros_like(noise), where=scatter + noise > 0)
    upwards = _REACH * np.sqrt(np.maximum(uncertain, further))
    # a context may have what noise hides of it, and an item taken to be empty what its interval says
    whole = max(float(items.mean.sum()), 1.0)
    hidden = np.clip(np.sqrt(noise.sum(axis=0)) / whole - shares, 0.0, 1.0)
    least = np.outer(items.high, hidden) + np.outer(np.where(items.mean > 0, 0.0, items.high), shares)
    return Posterior(
        mean,
        np.maximum(mean - reach, 0.0) * below[:, None],
        mean + np.maximum(np.sqrt(upwards**2 + (mean * above[:, None]) ** 2), least),
    )


def shares_of(items: Floats, measured: Floats, noise: Floats) -> Floats:
    """Return how much of its items' counts each context has: a regression that trusts large items most.

    >>> shares_of(np.array([100.0, 1.0]), np.array([[70.0, 30.0], [-2.0, 3.0]]), np.full((2, 2), 25.0)).round(1)
    array([0.7, 0.3])
    """
    whole = items.sum()
    shares = np.maximum(measured.sum(axis=0), 0.0) / (whole if whole > 0 else 1.0)
    for _ in range(_STEPS):
        expected = np.outer(items, shares)
        trust = np.divide(
            items[:, None], noise + _USUAL_SPREAD * expected**2 + expected, out=np.zeros_like(expected),
            where=noise + expected > 0,
        )  # fmt: skip
        weight = (trust * items[:, None]).sum(axis=0)
        shares = np.divide((trust * measured).sum(axis=0), weight, out=np.zeros_like(shares), where=weight > 0)
        shares = np.maximum(shares, 0.0)
    return np.asarray(shares)


def _spreads(off: Floats, expected: Floats, noise: Floats, *, together: bool) -> _Spreads:
    """Compare how far measurements are off with how far noise and chance alone would put them."""
    squares = float((expected**2).sum())
    if squares <= 0:
        return _Spreads(_SMALLEST_SPREAD, 0.0)
    each = float((off**2).sum() - noise.sum() - expected.sum()) / squares
    common = 0.0
    if together:
        products = float((expected.sum(axis=1) ** 2).sum()) - squares
        found = float((off.sum(axis=1) ** 2 - (off**2).sum(axis=1)).sum())
        common = min(max(found / products, 0.0), _LARGEST_SPREAD) if products > 0 else 0.0
    return _Spreads(float(np.clip(each - common, _SMALLEST_SPREAD, _LARGEST_SPREAD)), common)


def _moved(off: Floats, expected: Floats, scatter: Floats, together: float) -> tuple[Floats, Floats]:
    """Return by what part of itself each item is off, as its edges together say, and the variance of that."""
    trust = np.divide(expected, scatter, out=np.zeros_like(expected), where=scatter > 0)
    unsure = together / (1 + together * (trust * expected).sum(axis=1))
    return unsure * (trust * off).sum(axis=1), unsure


def _summing(edges: Floats, uncertain: Floats, items: Floats) -> Floats:
    """Return edges that sum to their items, and are nowhere negative."""
    missing = items - edges.sum(axis=1)
    whole = uncertain.sum(axis=1)[:, None]
    share = np.divide(uncertain, whole, out=np.full_like(edges, 1 / edges.shape[1]), where=whole > 0)
    moved = np.maximum(edges + share * missing[:, None], 0.0)
    found = moved.sum(axis=1)
    return np.asarray(moved * np.divide(items, found, out=np.zeros_like(items), where=found > 0)[:, None])
