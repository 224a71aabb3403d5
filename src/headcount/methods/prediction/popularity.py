"""Popularity models: shifted power laws for the shares of items when no counts are released.

Zipf's law (:func:`headcount.adaptive.threshold_choice.zipf`) serves for what limits cut off, but not for who is on
top: most logs have first places that lie closer together than 1, 1/2, 1/3, …. So what is asked about the top K is
asked of a law that is flatter at its head, (rank + ``shift``)^-``exponent``, and of two others, one on each side,
to see how much hangs on it.

The usual law and slope were chosen on seven logs (movielens-1m, gowalla-10core, fimi-retail, kosarak-prefix,
git-homebrew-core, hetrec-lastfm-plays, hetrec-movielens-tags) and confirmed on seven others. Those on each side,
and from when on a released count is known, were set with all fourteen in sight (docs/plan.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity

POPULARITY_MODELS: Mapping[str, tuple[float, float]] = {
    "usual": (20.0, 0.8),
    "even": (50.0, 0.8),
    "steep": (0.0, 1.0),
}
"""Shift and exponent: of what is to be expected, and of items that are more and less alike than that."""

SLOPES: Mapping[str, float] = {"usual": 1 / 3, "even": 1 / 5, "steep": 2 / 3}
"""How fast counts fall around a place whose number of people is known: as a power of the rank."""

_MIN_LOWER_RATIO = 0.25  # of a count: the interval of one that is known begins above
_MIN_RELATIVE_COUNT = 1e-6  # of the largest count
_HEAD = 4  # times that place: up to there the law through it holds


@dataclass(frozen=True)
class ReleasedCounts:
    """Counts of all items as they were released, with the low ends of their intervals.

    >>> released = ReleasedCounts(np.array([6.0, 90.0, 0.0]), np.array([0.0, 70.0, 0.0]))
    >>> released.tells(1), released.tells(2), released.shares().round(3).tolist()
    (True, False, [0.062, 0.937, 0.0])
    """

    counts: Floats
    low: Floats

    def tells(self, k: int) -> bool:
        """Say whether it is known how popular the top K are: else they were shrunk, and are farther apart."""
        place = np.argsort(-self.counts, kind="stable")[min(k, self.counts.size) - 1]
        return bool(self.low[place] >= _MIN_LOWER_RATIO * self.counts[place] > 0)

    def shares(self) -> Floats:
        """Return the share of all records that each item has; somebody may have one whose count is 0."""
        some = np.maximum(self.counts, _MIN_RELATIVE_COUNT * max(self.counts.max(initial=0.0), 1.0))
        return np.asarray(some / some.sum())


def shifted_zipf_shares(items: int, shift: float, exponent: float) -> Floats:
    """Return the share of all records that each item has, the most popular first.

    >>> shifted_zipf_shares(4, 0.0, 1.0).round(2).tolist(), shifted_zipf_shares(4, 20.0, 0.8).round(2).tolist()
    ([0.48, 0.24, 0.16, 0.12], [0.26, 0.25, 0.25, 0.24])
    """
    weights = (np.arange(1.0, items + 1) + shift) ** -exponent
    return np.asarray(weights / weights.sum())


def share_for(activity: EstimatedActivity, users: float) -> float:
    """Return which share of all records an item has that so many people have, nobody twice; 1 at most.

    >>> activity = EstimatedActivity(np.array([1.0, 9.0]), np.array([50.0, 50.0]))
    >>> round(share_for(activity, 40), 3), round(share_for(activity, 60), 3)
    (0.08, 0.2)
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        having = np.minimum(1.0, share * activity.records) @ activity.users
        low, high = (share, high) if having < users else (low, share)
    return high


def shares_through(items: int, place: int, share: float, slope: float) -> Floats:
    """Return such shares where the item at one place has a known one.

    Around it, shares fall with the rank to the power of ``slope``; beyond, as fast as it takes for all shares to
    sum to 1.

    >>> shares = shares_through(1000, 20, 0.004, 1 / 3)
    >>> [round(float(value), 4) for value in (shares[19], shares[0] / shares[19], shares.sum())]
    [0.004, 2.7144, 1.0]
    """
    ranks = np.arange(1.0, items + 1)
    head = min(_HEAD * place, items)
    shares = share * (place / ranks) ** slope
    left = 1 - shares[:head].sum()
    if head < items and left > 0:
        low, high = 0.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            tail = shares[head - 1] * (head / ranks[head:]) ** middle
            low, high = (middle, high) if tail.sum() > left else (low, middle)
        shares[head:] = shares[head - 1] * (head / ranks[head:]) ** high
    return np.asarray(shares / shares.sum())
