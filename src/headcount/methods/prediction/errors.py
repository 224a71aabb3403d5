"""Predicted errors (MSE, MAE) of count methods before a release, from public or released activity.

Known are how active people are, how many cells there are, and the law of the noise, which is exact. How popular
items are is not known: it is modelled by Zipf's law as in :mod:`headcount.adaptive.threshold_choice`, the same for
light and heavy users. So each error has an exact part, the noise, and a modelled one, what the limit cuts off.

Where only a median and a maximum are known, activity is modelled too: as log-normal, cut at the maximum, so spread
out that the most active of all people is expected to be there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.threshold_choice import expected_records, zipf

_POINTS = 160  # numbers of records that stand for all
_MAX_SIMULATED_CELLS = 1_000_000  # cells that are dealt to groups, to see how far they are off


@dataclass(frozen=True)
class Prediction:
    """Expected errors over all cells; the MAE is None where there is no formula for it."""

    mse: float
    mae: float | None


@dataclass(frozen=True)
class TableShape:
    """What is known or modelled of a table: people, cells, and whether a person counts once a cell."""

    activity: EstimatedActivity
    cells: int
    distinct: bool = False

    def expected(self) -> tuple[Floats, Floats]:
        """Return how many cells share each popularity, and the records that users of each activity have there."""
        copies, popularities = zipf(self.cells)
        if not self.distinct:
            return copies, expected_records(self.activity, popularities, distinct=False)
        drawn = EstimatedActivity(draws_for(self.activity.records, self.cells), self.activity.users)
        return copies, expected_records(drawn, popularities, distinct=True)


def lognormal_activity(users: int, median: float, most: int) -> EstimatedActivity:
    """Model how active people are: log-normal with that median, the most active of all at ``most``.

    >>> activity = lognormal_activity(6040, 96, 2314)
    >>> round(activity.total_users), round(activity.total_records / activity.total_users)
    (6040, 142)
    """
    last = NormalDist().inv_cdf(1 - 1 / max(users, 3))
    spread = math.log(most / median) / last
    if spread <= 0:
        return EstimatedActivity(np.array([float(median)]), np.array([float(users)]))
    bin_ends = np.unique(np.concatenate([[0.5], np.geomspace(1.5, most + 0.5, _POINTS)]))
    within = np.array([NormalDist(math.log(median), spread).cdf(math.log(edge)) for edge in bin_ends])
    within[0] = 0.0
    shares = np.diff(within) / within[-1]
    middles = np.maximum(1.0, np.sqrt(bin_ends[1:] * bin_ends[:-1]))
    return EstimatedActivity(middles, users * shares)


def draws_for(different: Floats, cells: int) -> Floats:
    """Return how many draws by Zipf's law it takes to have so many different items, on average.

    >>> draws_for(np.array([1.0, 50.0, 100.0]), 100).round().tolist()
    [1.0, 140.0, 5784.0]
    """
    copies, popularities = zipf(cells)
    wanted = np.minimum(different, 0.999999 * cells)
    low, high = np.zeros(wanted.size), np.full(wanted.size, 2 * np.log(1e3 * cells + 1e3))
    for _ in range(50):
        middle = (low + high) / 2
        distinct_items = copies @ -np.expm1(-np.outer(popularities, np.expm1(middle)))
        low, high = np.where(distinct_items < wanted, middle, low), np.where(distinct_items < wanted, high, middle)
    return np.asarray(np.expm1(high))


def predict_truncated(
    shape: TableShape, limit: int, deviation: float, *, sampled: bool = True, gaussian: bool = False
) -> Prediction:
    """Predict counts of at most ``limit`` records of each user, with noise of that standard deviation.

    ``sampled``: records are drawn at random, which adds chance; else all count in part. Noise is Laplace's unless
    it is ``gaussian``.

    >>> shape = TableShape(EstimatedActivity(np.array([1.0, 50.0]), np.array([900.0, 100.0])), 500)
    >>> [round(predict_truncated(shape, limit, 2.0 * limit).mae, 1) for limit in (1, 10, 50)]
    [10.0, 18.7, 70.7]
    """
    copies, expected = shape.expected()
    shares = np.minimum(1.0, limit / shape.activity.records)
    lost = expected @ (shape.activity.users * (1 - shares))
    chance = expected @ (shape.activity.users * shares * (1 - shares)) if sampled else np.zeros(lost.size)
    return _combine_errors(copies, lost, deviation**2 + chance, gaussian=gaussian)


def predict_hand_picked(shape: TableShape, limit: int, deviation: float, *, gaussian: bool = False) -> Prediction:
    """Predict counts of each user's ``limit`` records about the most popular items, whose order is taken as known.

    A record is kept where fewer than ``limit`` of its user's are about better items; how many are follows a normal
    law.

    >>> shape = TableShape(EstimatedActivity(np.array([50.0]), np.array([100.0])), 500)
    >>> predict_hand_picked(shape, 5, 1.0).mse > predict_hand_picked(shape, 25, 1.0).mse
    True
    """
    copies, expected = shape.expected()
    better = np.cumsum(copies[:, None] * expected, axis=0) - copies[:, None] * expected
    better += (copies[:, None] - 1) / 2 * expected  # of those that share a popularity, half are better
    records = np.maximum(shape.activity.records, better[-1] + expected[-1])
    spread = np.sqrt(np.maximum(better * (1 - better / records), 1e-9))
    kept = 0.5 * (1 + _erf((limit - 0.5 - better) / (spread * math.sqrt(2))))
    kept[:, shape.activity.records <= limit] = 1.0
    lost = (expected * (1 - kept)) @ shape.activity.users
    return _combine_errors(copies, lost, np.full(lost.size, deviation**2), gaussian=gaussian)


def predict_grouped(shape: TableShape, limit: int, deviation: float) -> Prediction:
    """Predict averages of random groups of ``limit`` cells, the noise being that of a group's sum.

    >>> shape = TableShape(EstimatedActivity(np.array([1.0]), np.array([100.0])), 1)
    >>> predict_grouped(shape, 1, 3.0).mse
    9.0
    """
    copies, expected = shape.expected()
    shares = np.minimum(1.0, limit / shape.activity.records)
    counts, kept = expected @ shape.activity.users, expected @ (shape.activity.users * shares)
    size = min(limit, shape.cells)
    mean = float(copies @ kept) / shape.cells
    variance = float(copies @ kept**2) / shape.cells - mean**2
    differences = counts - kept / size - (size - 1) / size * mean
    error = (
        float(copies @ differences**2) / shape.cells + (size - 1) / size**2 * variance + (deviation / size) ** 2
    )
    if shape.cells > _MAX_SIMULATED_CELLS:
        return Prediction(error, None)
    dealt = np.random.default_rng(0).permutation(np.repeat(np.stack([counts, kept]), copies.astype(int), axis=1).T)
    groups = np.minimum(np.arange(shape.cells) // size, shape.cells // size - 1)
    sums = np.bincount(groups, weights=dealt[:, 1]) / np.bincount(groups)
    differences = np.abs(dealt[:, 0] - sums[groups])
    scale = deviation / math.sqrt(2) / size
    return Prediction(error, float((differences + scale * np.exp(-differences / scale)).mean()))


def dpsense_threshold(shape: TableShape, epsilon: float) -> int:
    """Return the θ that DPSense would choose for counts that get ε: what it keeps, less the noise it calls for.

    >>> dpsense_threshold(TableShape(EstimatedActivity(np.array([1.0, 50.0]), np.array([900.0, 100.0])), 20), 1.0)
    20
    """
    thetas = np.unique(np.round(np.geomspace(1, shape.cells, 400)).astype(np.int64))
    kept = np.minimum(shape.activity.records[None, :], thetas[:, None]) @ shape.activity.users
    return int(thetas[np.argmax(kept - shape.cells * thetas / epsilon)])


def _combine_errors(copies: Floats, lost: Floats, variance: Floats, *, gaussian: bool) -> Prediction:
    """Return the errors of counts that are too small by ``lost`` and have noise of that variance."""
    cells = copies.sum()
    if gaussian:
        sigma = np.maximum(np.sqrt(variance), 1e-300)
        mean = sigma * math.sqrt(2 / math.pi) * np.exp(-(lost**2) / (2 * sigma**2))
        mean += lost * _erf(lost / (sigma * math.sqrt(2)))
    else:
        scales = np.maximum(np.sqrt(variance / 2), 1e-300)
        mean = lost + scales * np.exp(-lost / scales)
    return Prediction(float(copies @ (lost**2 + variance) / cells), float(copies @ mean / cells))


def _erf(values: Floats) -> Floats:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(values))
