"""How popular items are, where nobody has counted them: laws from public figures alone.

Zipf's law (:func:`headcount.answers.prediction.zipf`) serves for what limits cut off, but not for who is on top:
most logs have first places that lie closer together than 1, 1/2, 1/3, …. So what is asked about the top K is asked
of a law that is flatter at its head, (rank + ``shift``)^-``exponent``, and of two others, one on each side, to see
how much hangs on it.

The constants were chosen on movielens-1m, gowalla-10core, fimi-retail, kosarak-prefix, git-homebrew-core,
hetrec-lastfm-plays and hetrec-movielens-tags, and confirmed on seven other logs (docs/plan.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headcount.arrays import Floats

LAWS: Mapping[str, tuple[float, float]] = {"usual": (20.0, 0.8), "even": (50.0, 0.8), "steep": (0.0, 1.0)}
"""Shift and exponent: of what is to be expected, and of items that are more and less alike than that."""

SLOPES: Mapping[str, float] = {"usual": 1 / 3, "even": 1 / 5, "steep": 2 / 3}
"""How fast counts fall around a place whose number of people is known: as a power of the rank."""

_HEAD = 4  # times that place: up to there the law through it holds


def shifted(items: int, shift: float, exponent: float) -> Floats:
    """Return the share of all records that each item has, the most popular first.

    >>> shifted(4, 0.0, 1.0).round(2).tolist(), shifted(4, 20.0, 0.8).round(2).tolist()
    ([0.48, 0.24, 0.16, 0.12], [0.26, 0.25, 0.25, 0.24])
    """
    weights = (np.arange(1.0, items + 1) + shift) ** -exponent
    return np.asarray(weights / weights.sum())


def through(items: int, place: int, share: float, slope: float) -> Floats:
    """Return such shares where the item at one place has a known one.

    Around it, shares fall with the rank to the power of ``slope``; beyond, as fast as it takes for all shares to
    sum to 1.

    >>> law = through(1000, 20, 0.004, 1 / 3)
    >>> round(law[19], 6), round(law[0] / law[19], 2), round(law.sum(), 6)
    (0.004, 2.71, 1.0)
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
