"""Predicted error of the adaptive method for a clipping threshold, from released and public numbers alone.

What is known is how active people are (a released histogram), how many cells there are, and the law of the noise.
How popular the items are is not; it is modelled by Zipf's law, popularity in proportion to 1/rank. Each cell is
then off by the noise of both its parts, or by its own count where shrinkage gives it up: where it does not stand
out of the largest noise of as many cells. And it is off by what scaling up gets wrong: heavy users differ from
each other, the more the less even their activity is. Where scaling up is measured
(:mod:`headcount.adaptive.class_scale_up`), that is less for popular items, of which more is known.

The sizes of that last part were fixed by looking at public logs and at made-up ones (docs/methods/adaptive.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.scale_up import Norm, inclusion_chances, weights

SCALE_UP_VARIANCE = 0.03
"""The squared relative error of scaled-up counts, per unit of unevenness of heavy users (a variance of logs)."""

BIN_POSITION_SHARE = 0.02
"""How much of what is known as possible, that users are all at one end of their bins, is to be expected."""

PROFILE_NOISE_FACTOR = 0.84
"""How far a measured count is off: so often the scale of the noise, times the activity behind a record."""

COUNT_TOLERANCE = 1.02
"""Of limits whose predicted errors differ by less, the smallest is taken: its noise is certain, bias is not."""

ORDER_TOLERANCE = 2.0
"""The same where counts are for their order alone: noise muddles it, and misjudging all alike does not."""

_RANKS = 400  # so many ranks stand for all


def predicted_error(
    activity: EstimatedActivity,
    limit: int,
    deviation: float,
    cells: int,
    norm: Norm,
    *,
    distinct: bool,
    measured: float | None = None,
) -> float:
    """Return the expected sum of squared errors of all cells.

    ``measured`` is the scale of the noise with which it is measured what heavy users have, if it is.

    >>> activity = EstimatedActivity(np.array([1.0, 50.0]), np.array([900.0, 100.0]))
    >>> errors = [predicted_error(activity, k, 2.8 * k, 500, "l1", distinct=True) for k in (1, 4, 64)]
    >>> errors[0] < errors[1] < errors[2]
    True
    """
    copies, errors = cell_errors(activity, limit, deviation, cells, norm, distinct=distinct, measured=measured)
    return float(copies @ errors)


def cell_errors(
    activity: EstimatedActivity,
    limit: int,
    deviation: float,
    cells: int,
    norm: Norm,
    *,
    distinct: bool,
    measured: float | None = None,
) -> tuple[Floats, Floats]:
    """Return how many cells share each popularity, and the expected squared error of one of them."""
    copies, popularities = zipf(cells)
    as_popular = np.cumsum(copies)
    light, heavy = activity.within(limit), activity.above(limit)
    counts = expected_records(light, popularities, distinct=distinct) @ light.users
    own = _shrinkage_loss(counts, np.full_like(counts, deviation), as_popular, norm)
    if heavy.total_users <= 0:
        return copies, own.noise + own.lost**2
    expected = expected_records(heavy, popularities, distinct=distinct)
    full = expected @ heavy.users
    weighed = expected @ (heavy.users * weights(heavy.records, limit, norm))
    others = _shrinkage_loss(full, full / np.maximum(weighed, 1e-300) * deviation, as_popular, norm)
    errors = own.noise + others.noise + (own.lost + others.lost) ** 2  # what both lose of a count adds up
    return copies, errors + scale_up_error(heavy, full, norm, measured)


class _ShrinkageLoss(NamedTuple):
    """What shrinkage leaves of one part of counts: the variance of noise, and what is lost of them."""

    noise: Floats
    lost: Floats


def _shrinkage_loss(counts: Floats, deviations: Floats, as_popular: Floats, norm: Norm) -> _ShrinkageLoss:
    """Return what shrinkage leaves of noisy counts, in the order of their popularity.

    A count is given up unless it is likelier than noise of its size in one of the many cells that are less
    popular: ``as_popular`` says how many are at least as popular.

    >>> few, many = np.array([1.0, 2.0]), np.array([1.0, 1e5])
    >>> for as_popular in few, many:
    ...     print(_shrinkage_loss(np.array([8.0, 0.1]), np.ones(2), as_popular, "l1").lost.round(2).tolist())
    [0.03, 0.1]
    [4.92, 0.1]
    """
    away = counts / np.maximum(deviations, 1e-300)
    likelier = np.sqrt(2) * away if norm == "l1" else away**2 / 2
    odds = np.clip(np.log(as_popular[-1] / (2 * as_popular)) - likelier, -700.0, 700.0)
    kept_share = np.where(away < 1, 0.0, 1 / (1 + np.exp(odds)))
    return _ShrinkageLoss(kept_share * deviations**2, np.sqrt(1 - kept_share) * counts)


def scale_up_error(heavy: EstimatedActivity, full: Floats, norm: Norm, measured: float | None = None) -> Floats:
    """Return the squared errors of heavy users' counts after scaling up, which amount to so much in full.

    Weights of √(θ/n) differ half as much between users as weights of θ/n do, on the scale of logarithms. What is
    measured with noise of a scale is not misjudged by more than that noise. Where within their bins users are is
    not known: it matters where nearly all are in one.

    >>> activity, counts = EstimatedActivity(np.array([2.0, 8.0]), np.full(2, 500.0)), np.array([10.0, 4e3])
    >>> [np.sqrt(scale_up_error(activity, counts, "l1", measured)).round(1).tolist() for measured in (None, 20.0)]
    [[1.2, 488.7], [1.2, 143.3]]
    """
    squares = SCALE_UP_VARIANCE * heavy.log_variance * (1.0 if norm == "l1" else 0.25) * full**2
    if measured is not None:
        noise_squares = (PROFILE_NOISE_FACTOR * measured * heavy.size_biased_mean) ** 2
        squares = squares * noise_squares / np.maximum(squares + noise_squares, 1e-300)
    return np.asarray(squares + BIN_POSITION_SHARE * (heavy.bin_position_error * full) ** 2)


def best_threshold(
    candidates: Sequence[int], errors: Sequence[Sequence[float]], as_good: float = COUNT_TOLERANCE
) -> int:
    """Return the smallest limit whose predicted error is nearly the least, as a geometric mean over tables.

    >>> best_threshold([1, 2, 4], [[9.0, 4.0, 5.0], [800.0, 90.0, 50.0]])
    4
    >>> best_threshold([1, 2, 4], [[9.0, 4.0, 5.0], [800.0, 90.0, 50.0]], ORDER_TOLERANCE)
    2
    """
    together = np.log(np.maximum(np.asarray(errors, dtype=np.float64), 1e-300)).mean(axis=0)
    return candidates[int(np.argmax(together <= together.min() + np.log(as_good)))]


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
    return inclusion_chances(activity, popularities) if distinct else np.outer(popularities, activity.records)
