"""Predicted error: how far released counts would be off for a limit, from public figures and released ones alone.

What is known is how active people are (a released histogram), how many cells there are, and the law of the noise.
How popular the items are is not; it is modelled by Zipf's law, popularity in proportion to 1/rank. Each cell is
then off by the noise of both its parts, or by its own count where shrinkage gives it up, and by what scaling up
gets wrong: heavy users differ from each other, the more the less even their activity is.

The sizes of that last part, ``MISJUDGED`` and ``MISPLACED``, were fixed by looking at public logs and at made-up
ones (docs/methods/adaptive.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headcount.answers.activity import EstimatedActivity
from headcount.answers.scaling import Norm, chances, weights
from headcount.arrays import Floats

MISJUDGED = 0.025
"""The squared relative error of scaled-up counts, per unit of unevenness of heavy users (a variance of logs)."""

MISPLACED = 0.1
"""How much of what is known as possible, that users are all at one end of their bins, is to be expected."""

NEARLY_AS_GOOD = 2.0
"""Of limits whose predicted errors differ by less, the smallest is taken: its noise is certain, bias is not."""

_RANKS = 400  # so many ranks stand for all


def predicted_error(
    activity: EstimatedActivity, limit: int, deviation: float, cells: int, norm: Norm, *, distinct: bool
) -> float:
    """Return the expected sum of squared errors of all cells.

    >>> activity = EstimatedActivity(np.array([1.0, 50.0]), np.array([900.0, 100.0]))
    >>> errors = [predicted_error(activity, k, 2.8 * k, 500, "l1", distinct=True) for k in (1, 4, 64)]
    >>> errors[0] < errors[1] < errors[2]
    True
    """
    copies, errors = cell_errors(activity, limit, deviation, cells, norm, distinct=distinct)
    return float(copies @ errors)


def cell_errors(
    activity: EstimatedActivity, limit: int, deviation: float, cells: int, norm: Norm, *, distinct: bool
) -> tuple[Floats, Floats]:
    """Return how many cells share each popularity, and the expected squared error of one of them."""
    copies, popularities = zipf(cells)
    light, heavy = activity.within(limit), activity.above(limit)
    counts = expected_records(light, popularities, distinct=distinct) @ light.users
    errors = np.minimum(deviation**2, counts**2)
    if heavy.total_users > 0:
        expected = expected_records(heavy, popularities, distinct=distinct)
        full = expected @ heavy.users
        weighed = expected @ (heavy.users * weights(heavy.records, limit, norm))
        ratios = full / np.maximum(weighed, 1e-300)
        errors = errors + np.minimum((ratios * deviation) ** 2, full**2) + misjudged(heavy, norm) * full**2
    return copies, errors


def misjudged(heavy: EstimatedActivity, norm: Norm) -> float:
    """Return the squared relative error of heavy users' counts after scaling up.

    Weights of √(θ/n) differ half as much between users as weights of θ/n do, on the scale of logarithms. Where
    within their bins users are is not known: it matters where nearly all are in one.
    """
    return MISJUDGED * heavy.unevenness * (1.0 if norm == "l1" else 0.25) + MISPLACED * heavy.misplaced**2


def best_limit(candidates: Sequence[int], errors: Sequence[Sequence[float]]) -> int:
    """Return the smallest limit whose predicted error is nearly the least, as a geometric mean over tables.

    >>> best_limit([1, 2, 4], [[9.0, 4.0, 5.0], [800.0, 90.0, 50.0]])
    2
    """
    together = np.log(np.maximum(np.asarray(errors, dtype=np.float64), 1e-300)).mean(axis=0)
    return candidates[int(np.argmax(together <= together.min() + np.log(NEARLY_AS_GOOD)))]


def zipf(cells: int) -> tuple[Floats, Floats]:
    """Return popularities in proportion to 1/rank: how many cells share each of them, and each of them.

    A few hundred ranks stand for all.

    >>> copies, popularities = zipf(1000)
    >>> copies.sum(), round((copies * popularities).sum(), 9)
    (np.float64(1000.0), np.float64(1.0))
    """
    ranks, copies = some_ranks(cells)
    return copies, 1 / ranks / (copies / ranks).sum()


def some_ranks(cells: int) -> tuple[NDArray[np.int64], Floats]:
    """Return a few hundred ranks that stand for all, and for how many each does.

    >>> ranks, copies = some_ranks(10**6)
    >>> ranks.size < 400, ranks[:3].tolist(), copies.sum()
    (True, [1, 2, 3], np.float64(1000000.0))
    """
    ranks = np.unique(np.round(np.geomspace(1, cells, min(cells, _RANKS))).astype(np.int64))
    return ranks, np.diff(np.append(ranks, cells + 1)).astype(np.float64)


def expected_records(activity: EstimatedActivity, popularities: Floats, *, distinct: bool) -> Floats:
    """Return how many records of each item a user of each activity is expected to have."""
    return chances(activity, popularities) if distinct else np.outer(popularities, activity.records)
