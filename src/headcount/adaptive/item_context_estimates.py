"""Edges given their items: counts per item and context, where counts per item are known better.

An edge is expected to be its item's count times the share of its context. Real edges differ from that, relatively,
in two ways: all edges of an item together, since its count is off (variance σ², of each item), and each by itself
(variance τ²). How far noise leaves a count uncertain is known; where it is not, the noisy edges tell, by how much
those of an item scatter together. By how much more they scatter than noise and chance alone would make them says
what τ² is, as far as noise lets that be told, beside what it usually is. So an edge borrows from its item, from
the other contexts of that item, and from how other items spread over contexts. Large edges keep their measurement;
small ones follow their item. Where records are counted, edges are made to sum to their item by least squares: what
is wanting goes to those that are least certain.

Only released numbers are used.

Reference
    B. Efron, C. Morris. Stein's Estimation Rule and its Competitors. Journal of the American Statistical
    Association, 1973: shrinkage towards what is expected, with spreads that the data tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.blocks import BLOCK, blocks
from headcount.adaptive.empirical_bayes import Posterior

_REACH = 2.2  # deviations: a little more than 1.96, since edges scatter more than normally
_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.01, 9.0
_STEPS = 3  # in which shares and what is expected settle
_USUAL_SPREAD = 0.3  # τ² before it is known: only how much items of different sizes say of the shares hangs on it
_USUAL_OWN, _OWN_DIFFERS = 0.05, 0.1  # what τ² is in public logs, and how far from that
_LAPLACE = 5.0  # the variance of the square of Laplace noise, over that variance squared; Gaussian noise has less


class _Spreads(NamedTuple):
    """How far edges are from what is expected, relatively: each by itself (τ²), all of an item together (σ²)."""

    own: float
    together: Floats  # one an item

    def of(self, rows: slice) -> _Spreads:
        """Return those of some items."""
        return _Spreads(self.own, self.together[rows])


class Measurements(Protocol):
    """A table of measurements, one row an item, of which some rows at a time are looked at."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many items and contexts there are."""
        ...

    def __getitem__(self, rows: slice, /) -> Floats:
        """Return some rows."""
        ...


def edges_of(
    items: Posterior,
    measured: Measurements,
    variance: float | Floats,
    *,
    sums: bool,
    uncertain: Floats | None = None,
) -> Posterior:
    """Return edges, one row an item, from unbiased measurements with noise of that variance (of each item).

    ``sums`` says whether the edges of an item sum to its count; if they do not, ``uncertain`` says how far off the
    count of each item may be, as a relative variance, where that is known.

    >>> items = Posterior(np.array([100.0, 10.0]), np.array([90.0, 0.0]), np.array([110.0, 30.0]))
    >>> edges = edges_of(items, np.array([[70.0, 30.0], [-10.0, 20.0]]), 25.0, sums=True)
    >>> edges.mean.sum(axis=1).round(6).tolist(), edges.mean[0].round().tolist()
    ([100.0, 10.0], [69.0, 31.0])
    """
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), items.mean.shape)
    shares = shares_of(items.mean, measured, noise)
    spreads = _spreads(items.mean, measured, noise, shares, np.zeros_like(items.mean) if sums else uncertain)
    # a context may have what noise hides of it, and an item taken to be empty what its interval says
    whole = max(float(items.mean.sum()), 1.0)
    hidden = np.clip(np.sqrt(noise.sum()) / whole - shares, 0.0, 1.0)
    common = _Common(shares, hidden, sums)
    made = Posterior(*(np.empty(measured.shape) for _ in range(3)))
    for rows in _rows(measured):
        own = Posterior(items.mean[rows], items.low[rows], items.high[rows])
        part = _edges(own, measured[rows], noise[rows, None], spreads.of(rows), common)
        made.mean[rows], made.low[rows], made.high[rows] = part.mean, part.low, part.high
    return made


def _rows(measured: Measurements) -> Iterator[slice]:
    """Cut the rows of a table into blocks of about so many cells as other tables are cut into."""
    return blocks(measured.shape[0], max(BLOCK // max(measured.shape[1], 1), 1))


class _Common(NamedTuple):
    """What all edges have in common."""

    shares: Floats
    hidden: Floats
    sums: bool


def _edges(items: Posterior, measured: Floats, noise: Floats, spreads: _Spreads, common: _Common) -> Posterior:
    """Return the edges of some items; ``noise`` is a column."""
    shares, hidden, sums = common
    expected = np.outer(items.mean, shares)
    off = measured - expected
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
    further = np.divide(scatter * noise, scatter + noise, out=np.zeros_like(scatter), where=scatter + noise > 0)
    upwards = _REACH * np.sqrt(np.maximum(uncertain, further))
    least = np.outer(items.high, hidden) + np.outer(np.where(items.mean > 0, 0.0, items.high), shares)
    return Posterior(
        mean,
        np.maximum(mean - reach, 0.0) * below[:, None],
        mean + np.maximum(np.sqrt(upwards**2 + (mean * above[:, None]) ** 2), least),
    )


def shares_of(items: Floats, measured: Measurements, noise: Floats) -> Floats:
    """Return how much of its items' counts each context has: a regression that trusts large items most.

    >>> shares_of(np.array([100.0, 1.0]), np.array([[70.0, 30.0], [-2.0, 3.0]]), np.full(2, 25.0)).round(1)
    array([0.7, 0.3])
    """
    whole = items.sum()
    sums = np.zeros(measured.shape[1])
    for rows in _rows(measured):
        sums += measured[rows].sum(axis=0)
    shares = np.maximum(sums, 0.0) / (whole if whole > 0 else 1.0)
    for _ in range(_STEPS):
        weight, weighed = np.zeros((2, measured.shape[1]))
        for rows in _rows(measured):
            own, noisy = items[rows, None], noise[rows, None]
            expected = own * shares
            trust = np.divide(
                own, noisy + _USUAL_SPREAD * expected**2 + expected, out=np.zeros_like(expected),
                where=noisy + expected > 0,
            )  # fmt: skip
            weight += (trust * own).sum(axis=0)
            weighed += (trust * measured[rows]).sum(axis=0)
        shares = np.divide(weighed, weight, out=np.zeros_like(shares), where=weight > 0)
        shares = np.maximum(shares, 0.0)
    return np.asarray(shares)


def _spreads(
    items: Floats, measured: Measurements, noise: Floats, shares: Floats, uncertain: Floats | None
) -> _Spreads:
    """Compare how far measurements are off with how far noise and chance alone would put them."""
    squares, products, each, common, known = 0.0, 0.0, 0.0, 0.0, 0.0
    for rows in _rows(measured):
        expected = np.outer(items[rows], shares)
        off = measured[rows] - expected
        own = (off**2).sum(axis=1)
        summed = (expected**2).sum(axis=1)
        squares += float(summed.sum())
        products += float((expected.sum(axis=1) ** 2).sum())
        each += float(own.sum() - noise[rows].sum() * shares.size - expected.sum())
        common += float((off.sum(axis=1) ** 2 - own).sum())
        known += 0.0 if uncertain is None else float((uncertain[rows] * summed).sum())
    if squares <= 0:
        return _Spreads(_SMALLEST_SPREAD, np.zeros_like(items))
    if uncertain is None:
        products -= squares
        found = min(max(common / products, 0.0), _LARGEST_SPREAD) if products > 0 else 0.0
        uncertain, known = np.full_like(items, found), found * squares
    unsure = _LAPLACE * shares.size * float((noise**2).sum()) / squares**2
    own_spread = _usually((each - known) / squares, unsure)
    return _Spreads(
        min(max(own_spread, _SMALLEST_SPREAD), _LARGEST_SPREAD), np.minimum(uncertain, _LARGEST_SPREAD)
    )


def _usually(measured: float, variance: float) -> float:
    """Return what to make of a τ² that was measured with that variance, beside what it usually is.

    >>> round(_usually(0.4, 1e-4), 3), round(_usually(40.0, 1e4), 3)
    (0.397, 0.05)
    """
    trust = _OWN_DIFFERS**2 / (_OWN_DIFFERS**2 + variance)
    return _USUAL_OWN + trust * (measured - _USUAL_OWN)


def _moved(off: Floats, expected: Floats, scatter: Floats, together: Floats) -> tuple[Floats, Floats]:
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
