"""Threshold choice: the clipping threshold with the smallest predicted error, from released and public numbers.

The activity of users is known (a released histogram), so are the number of cells and the noise distribution. The
popularity of items is not; it is modelled by Zipf's law, in proportion to 1/rank. The error of a cell is then the
noise of both its parts, or its own count where shrinkage discards it: where it does not exceed the largest noise
of as many cells. Scaling up adds its error: heavy users differ from each other, the more the less even their
activity is. Where factors are measured (:mod:`headcount.adaptive.popularity_scale_up`), it is less for popular
items.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Cost
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.activity_histogram import EstimatedActivity, UserEstimates, estimate_with_upper
from headcount.adaptive.posterior import laplace_scale
from headcount.adaptive.priors import PRIORS, Priors
from headcount.adaptive.scale_up import Norm, inclusion_chances, weights
from headcount.bounds import FIXED_POINT, Counting, CountTable, Noisy, WeightToThreshold, columns_of
from headcount.bounds.counts.activity_histogram import LAST_EDGE
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.noise import noise_distribution_for, noise_norm

MAX_THRESHOLD = 1 << 20
MOST_RECORDS = LAST_EDGE + 1
LIGHT_AND_HEAVY = "the counts of light users, in whole numbers, and of heavy ones, before shrinkage"


@dataclass(frozen=True)
class Plan:
    """What follows from the released histograms: estimates of the users of each table, and the bound of counts."""

    users: Mapping[CountTable, UserEstimates]
    bound: WeightToThreshold


def plan(
    log: EventLog,
    histograms: Mapping[CountTable, Noisy],
    costs: Mapping[CountTable, Cost],
    profile_cost: Cost,
    *,
    threshold: int | None = None,
    cap: int | None = None,
    priors: Priors = PRIORS,
) -> Plan:
    """Plan the counts of some tables: with a declared threshold, or with the one of smallest predicted error.

    A table without a histogram of its own has the first one; ``cap`` is a public maximum of records per user.
    """
    first = next(iter(costs))
    norm = noise_norm(costs[first])
    users = {
        table: estimate_users(log, table, histograms.get(table, histograms[first]), norm, cap, priors)
        for table in costs
    }
    chosen = threshold or choose_threshold(log, users, costs, cap or MOST_RECORDS, profile_cost, priors)
    return Plan(users, WeightToThreshold(chosen, norm, apart=True))


def estimate_users(
    log: EventLog,
    table: CountTable,
    released: Noisy,
    norm: Norm = "l1",
    max_records: int | None = None,
    priors: Priors = PRIORS,
) -> UserEstimates:
    """Estimate the users of a table from a released histogram; at most ``max_records`` records of each count."""
    distinct = log.counting == "users"
    caps = [cap for cap in (max_records, columns_of(log, table) if distinct else None) if cap is not None]
    squares = norm == "l2" and not distinct
    activities = estimate_with_upper(
        released.counts, laplace_scale(released.distribution), min(caps, default=None), priors
    )
    return UserEstimates(*activities, distinct, squares, cap=max_records)


def threshold_noise(threshold: int, cost: Cost, counting: Counting) -> NoiseDistribution:
    """Return the noise of a table under a threshold; refuse noise that cannot be drawn."""
    bound = WeightToThreshold(threshold, noise_norm(cost))
    moved = bound.sensitivity(counting, columns=1)  # in its norm, columns do not matter
    return noise_distribution_for(moved, cost, unit=FIXED_POINT, on=LIGHT_AND_HEAVY)


def drawable(threshold: int, cost: Cost, counting: Counting) -> bool:
    """Say whether the noise of a table under a threshold can be drawn: a public question."""
    try:
        threshold_noise(threshold, cost, counting)
    except UsageError:
        return False
    return True


def drawable_thresholds(largest: int, counting: Counting, costs: Iterable[Cost]) -> list[int]:
    """Return candidate thresholds, powers of two and the largest, whose noise can be drawn at all costs.

    The noise of threshold 1 can be drawn, by an earlier check.
    """
    candidates, paid = {largest, *(1 << k for k in range(largest.bit_length()))}, tuple(costs)
    return [k for k in sorted(candidates) if k == 1 or all(drawable(k, cost, counting) for cost in paid)]


def threshold_deviations(thresholds: Sequence[int], cost: Cost, counting: Counting) -> list[float]:
    """Return the standard deviation of the noise of each threshold."""
    norm, unit_deviation = noise_norm(cost), threshold_noise(1, cost, counting).variance ** 0.5
    return [unit_deviation * (threshold if norm == "l1" else math.sqrt(threshold)) for threshold in thresholds]


def choose_threshold(
    log: EventLog,
    users: Mapping[CountTable, UserEstimates],
    costs: Mapping[CountTable, Cost],
    max_records: int = MOST_RECORDS,
    profile_cost: Cost | None = None,
    priors: Priors = PRIORS,
) -> int:
    """Return the clipping threshold below ``max_records`` with the smallest predicted error, from public values.

    ``profile_cost`` pays for the class profile of heavy users; without it, only the order of the counts matters.
    """
    largest = min(max_records - 1, MAX_THRESHOLD)
    thresholds = drawable_thresholds(largest, log.counting, costs.values())
    errors = [
        [
            predicted_error(
                table_users.estimated,
                threshold,
                deviation,
                columns_of(log, table),
                noise_norm(costs[table]),
                distinct=True,
                measured=None if profile_cost is None else 1 / float(profile_cost.exact),
                priors=priors,
            )
            for threshold, deviation in zip(
                thresholds, threshold_deviations(thresholds, costs[table], log.counting), strict=True
            )
        ]
        for table, table_users in users.items()
    ]
    tuned = priors.threshold
    return best_threshold(
        thresholds, errors, tuned.order_tolerance if profile_cost is None else tuned.count_tolerance
    )


def predicted_error(
    activity: EstimatedActivity,
    threshold: int,
    deviation: float,
    cells: int,
    norm: Norm,
    *,
    distinct: bool,
    measured: float | None = None,
    priors: Priors = PRIORS,
) -> float:
    """Return the expected sum of squared errors of all cells.

    ``measured`` is the scale of the noise of the class profile of heavy users, if one is measured.

    >>> activity = EstimatedActivity(np.array([1.0, 50.0]), np.array([900.0, 100.0]))
    >>> errors = [predicted_error(activity, k, 2.8 * k, 500, "l1", distinct=True) for k in (1, 4, 64)]
    >>> errors[0] < errors[1] < errors[2]
    True
    """
    copies, errors = cell_errors(
        activity, threshold, deviation, cells, norm, distinct=distinct, measured=measured, priors=priors
    )
    return float(copies @ errors)


def cell_errors(
    activity: EstimatedActivity,
    threshold: int,
    deviation: float,
    cells: int,
    norm: Norm,
    *,
    distinct: bool,
    measured: float | None = None,
    priors: Priors = PRIORS,
) -> tuple[Floats, Floats]:
    """Return how many cells share each popularity, and the expected squared error of one of them."""
    copies, popularities = zipf(cells, priors.threshold.ranks)
    as_popular = np.cumsum(copies)
    light, heavy = activity.within(threshold), activity.above(threshold)
    counts = expected_records(light, popularities, distinct=distinct) @ light.users
    own = _shrinkage_loss(counts, np.full_like(counts, deviation), as_popular, norm)
    if heavy.total_users <= 0:
        return copies, own.noise + own.lost**2
    expected = expected_records(heavy, popularities, distinct=distinct)
    full = expected @ heavy.users
    weighed = expected @ (heavy.users * weights(heavy.records, threshold, norm))
    others = _shrinkage_loss(full, full / np.maximum(weighed, 1e-300) * deviation, as_popular, norm)
    errors = own.noise + others.noise + (own.lost + others.lost) ** 2  # losses of both add up
    return copies, errors + scale_up_error(heavy, full, norm, measured, priors)


class _ShrinkageLoss(NamedTuple):
    """What shrinkage leaves of one part of counts: the variance of noise, and the lost part of counts."""

    noise: Floats
    lost: Floats


def _shrinkage_loss(counts: Floats, deviations: Floats, as_popular: Floats, norm: Norm) -> _ShrinkageLoss:
    """Return what shrinkage leaves of noisy counts, in the order of their popularity.

    A count is discarded unless it is likelier than noise of its size in one of the many less popular cells:
    ``as_popular`` says how many are at least as popular.

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


def scale_up_error(
    heavy: EstimatedActivity, full: Floats, norm: Norm, measured: float | None = None, priors: Priors = PRIORS
) -> Floats:
    """Return the squared errors of heavy users' counts after scaling up, given their full counts.

    Weights of √(θ/n) differ half as much between users as weights of θ/n do, on the scale of logarithms. Factors
    measured with noise of a scale have no larger error than that noise. Unknown positions of users in their bins
    matter where nearly all are in one.

    >>> activity, counts = EstimatedActivity(np.array([2.0, 8.0]), np.full(2, 500.0)), np.array([10.0, 4e3])
    >>> [np.sqrt(scale_up_error(activity, counts, "l1", measured)).round(1).tolist() for measured in (None, 20.0)]
    [[1.2, 488.7], [1.2, 143.3]]
    """
    tuned, norm_factor = priors.threshold, 1.0 if norm == "l1" else 0.25
    squares = tuned.scale_up_variance * heavy.log_variance * norm_factor * full**2
    if measured is not None:
        noise_squares = (tuned.profile_noise_factor * measured * heavy.size_biased_mean) ** 2
        squares = squares * noise_squares / np.maximum(squares + noise_squares, 1e-300)
    position_error = heavy.bin_position_error(priors.histogram.bin_position_deviation)
    return np.asarray(squares + tuned.bin_position_share * (position_error * full) ** 2)


def best_threshold(
    candidates: Sequence[int],
    errors: Sequence[Sequence[float]],
    tolerance: float = PRIORS.threshold.count_tolerance,
) -> int:
    """Return the smallest threshold whose predicted error is nearly the least, as a geometric mean over tables.

    Errors within the ``tolerance``, a ratio, count as equal: the noise of a small threshold is certain, bias is
    not. Where only the order of counts matters, noise muddles it more than a common bias.

    >>> best_threshold([1, 2, 4], [[9.0, 4.0, 5.0], [800.0, 90.0, 50.0]])
    4
    >>> best_threshold([1, 2, 4], [[9.0, 4.0, 5.0], [800.0, 90.0, 50.0]], tolerance=2.0)
    2
    """
    together = np.log(np.maximum(np.asarray(errors, dtype=np.float64), 1e-300)).mean(axis=0)
    return candidates[int(np.argmax(together <= together.min() + np.log(tolerance)))]


def zipf(cells: int, most_ranks: int = PRIORS.threshold.ranks) -> tuple[Floats, Floats]:
    """Return popularities in proportion to 1/rank: how many cells share each of them, and each of them.

    A few hundred ranks stand for all.

    >>> copies, popularities = zipf(1000)
    >>> copies.sum(), round((copies * popularities).sum(), 9)
    (np.float64(1000.0), np.float64(1.0))
    """
    ranks, copies = some_ranks(cells, most_ranks)
    return copies, 1 / ranks / (copies / ranks).sum()


def some_ranks(cells: int, most_ranks: int = PRIORS.threshold.ranks) -> tuple[Integers, Floats]:
    """Return a few hundred ranks that stand for all, and for how many each does.

    >>> ranks, copies = some_ranks(10**6)
    >>> ranks.size < 400, ranks[:3].tolist(), copies.sum()
    (True, [1, 2, 3], np.float64(1000000.0))
    """
    ranks = np.unique(np.round(np.geomspace(1, cells, min(cells, most_ranks))).astype(np.int64))
    return ranks, np.diff(np.append(ranks, cells + 1)).astype(np.float64)


def expected_records(activity: EstimatedActivity, popularities: Floats, *, distinct: bool) -> Floats:
    """Return how many records of each item a user of each activity is expected to have."""
    return inclusion_chances(activity, popularities) if distinct else np.outer(popularities, activity.records)
