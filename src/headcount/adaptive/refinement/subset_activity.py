"""Refinement, subset activity: users by number of records of the refined items, from prior and noisy bins.

How many people have 1, 2, 3-4, … of a few items is released, with noise that may hide most of it. But it is known
how many records people have, and how popular the items are. If everybody drew from the same popularity, that would
say how many of these items people have; and mostly it says it well, where an item counts once (docs/methods/
adaptive.md). Where records count, people may also have one item many times: then all share alike in everybody's
records. What to expect lies between the two.

A bin that stands out of the noise is taken as it was released, and any other by precision. Where in its bin people
are is expected, too.

Only released numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import (
    CLEAR_SCALES,
    UNDETECTED_SCALES,
    EstimatedActivity,
    clean_histogram,
    spread_within_bins,
)
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.scale_up import inclusion_chances
from headcount.bounds.counts.activity_histogram import BINS, bin_of

# how far what is expected may be off, relatively: where items count once, and where not
_PRIOR_DEVIATION_DISTINCT, _PRIOR_DEVIATION = 0.5, 1.0
_UPPER_DEVIATIONS = 1.65  # deviations of that which people may be more
_SHARE_DEVIATION = 0.5  # how much people's shares of a few items differ, as a deviation of logarithms
_NORMAL_MIDPOINTS = np.array(
    [-1.4, -0.67, -0.21, 0.21, 0.67, 1.4]
)  # of a normal law, in deviations: each as likely
_MIXING_GRID = np.linspace(0.0, 1.0, 6)
_MIXING_PRIOR = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])  # in many logs nobody has an item twice
_UPPER_QUANTILE = 0.95
_HALVINGS = 32
_RAREST, _COMMONEST = -40.0, 5.0  # logarithms of popularity
_ROUNDS = 4
_MIN_REST = 0.1  # of what people draw, that is about other items
_TINY = 1e-9


class MixingWeight(NamedTuple):
    """How far from one expectation to another what was released lies: mean, deviation and most of what fits."""

    mean: float
    deviation: float
    most: float


UNKNOWN_WEIGHT = MixingWeight(0.5, 0.5, 1.0)
"""Where nothing was released of it."""


@dataclass(frozen=True, eq=False)
class SubsetActivity:
    """How many people have how many records of a few items, and how many may; deviations are those of bins.

    Records may lie between items that people have once and items that all share ``mixing``: that says how far.
    """

    estimated: EstimatedActivity
    at_most: EstimatedActivity
    deviations: Floats
    mixing: MixingWeight = UNKNOWN_WEIGHT

    @property
    def undetected(self) -> Floats:
        """How many more people there may be in each bin."""
        return np.maximum(users_per_bin(self.at_most) - users_per_bin(self.estimated), 0.0)


def users_per_bin(activity: EstimatedActivity) -> Floats:
    """Return how many people are in each bin."""
    places = bin_of(np.ceil(activity.records).astype(np.int64))
    return np.asarray(np.bincount(places, weights=activity.users, minlength=BINS), dtype=np.float64)


def estimate_subset_activity(
    released: Floats,
    scale: float,
    estimated: EstimatedActivity,
    at_most: EstimatedActivity,
    counts: Posterior,
    part: float | None = None,
) -> SubsetActivity:
    """Say how many people have how many of some items, of which it was released with Laplace noise of a scale.

    It is known how active all people are, as ``estimated`` and ``at_most``, and how large the counts of the items.
    ``part`` is the part of all records that are about them; without it an item counts once.

    >>> activity = EstimatedActivity(np.array([1.0, 2.0, 9.0]), np.array([900.0, 400.0, 50.0]))
    >>> counts = Posterior(*np.full((3, 4), 60.0))
    >>> noisy = np.array([160.0, 12.0, -9.0] + [0.0] * 19)
    >>> subset = estimate_subset_activity(noisy, 10.0, activity, activity, counts)
    >>> subset.estimated.users.round().tolist()
    [160.0, 15.0, 2.0, 0.0]
    """
    expected, possible = (
        distinct_draws_activity(estimated, counts.mean),
        distinct_draws_activity(at_most, counts.high),
    )
    if part is None:
        return _posterior_activity(released, scale, expected, possible, counts.mean.size)
    equal_share = equal_share_activity(estimated, part)
    mixing = estimate_mixing_weight(released, scale, expected, equal_share)
    expected = mix_activities(expected, equal_share, mixing.mean)
    possible = mix_activities(possible, equal_share_activity(at_most, part), mixing.most)
    return replace(_posterior_activity(released, scale, expected, possible, None), mixing=mixing)


def _posterior_activity(
    released: Floats, scale: float, expected: EstimatedActivity, possible: EstimatedActivity, most: int | None
) -> SubsetActivity:
    """Put what was released together with what is expected and possible; nobody has more than ``most``."""
    prior_mean, more = users_per_bin(expected), np.maximum(users_per_bin(possible), users_per_bin(expected))
    noise, relative_deviation = 2 * scale**2, (_PRIOR_DEVIATION if most is None else _PRIOR_DEVIATION_DISTINCT)
    prior_variances = (relative_deviation * prior_mean) ** 2
    gain = np.divide(prior_variances, prior_variances + noise, out=np.zeros(BINS), where=prior_variances > 0)
    significant = clean_histogram(released, scale, most)
    clear = significant > CLEAR_SCALES * scale
    users = np.where(clear, significant, np.maximum(prior_mean + gain * (released - prior_mean), 0.0))
    room = np.maximum(released, 0.0) + UNDETECTED_SCALES * scale
    raised = np.where(
        clear, users, np.maximum(np.minimum((1 + _UPPER_DEVIATIONS * relative_deviation) * more, room), users)
    )
    return SubsetActivity(
        _place_in_bins(users, expected, scale, most),
        _place_in_bins(raised, possible, scale, most),
        np.sqrt(np.where(clear, noise, gain * noise)),
    )


def _place_in_bins(
    users: Floats, expected: EstimatedActivity, scale: float, most: int | None
) -> EstimatedActivity:
    """Put so many people into each bin: where they are expected in it, or evenly where nobody is."""
    usual = users_per_bin(expected)
    alone = spread_within_bins(np.where(usual > _TINY, 0.0, users), scale, most)
    places = bin_of(np.ceil(expected.records).astype(np.int64))
    users_at_point = expected.users * np.divide(users, usual, out=np.zeros(BINS), where=usual > _TINY)[places]
    occupied = users_at_point > 0
    records = np.append(expected.records[occupied], alone.records)
    order = np.argsort(records, kind="stable")
    return EstimatedActivity(records[order], np.append(users_at_point[occupied], alone.users)[order], scale)


def distinct_draws_activity(activity: EstimatedActivity, counts: Floats) -> EstimatedActivity:
    """Return how many have 1, 2, … of some items, if all draw from one popularity and an item counts once.

    ``counts`` says how many have each of them. Whoever has many items drew popular ones again and again.

    >>> activity = EstimatedActivity(np.array([2.0]), np.array([100.0]))
    >>> distinct_draws_activity(activity, np.array([50.0, 50.0])).users.round().tolist()
    [50.0, 25.0]
    """
    drawn = activity
    for _ in range(_ROUNDS):
        popularities = _solve_popularities(drawn, counts)
        drawn = replace(drawn, records=_solve_draws(activity.records, popularities))
    inclusion = inclusion_chances(drawn, _solve_popularities(drawn, counts))
    distribution = np.zeros((counts.size + 1, activity.users.size))
    distribution[0] = 1.0
    for chance in inclusion:
        distribution[1:] = distribution[1:] * (1 - chance) + distribution[:-1] * chance
        distribution[0] *= 1 - chance
    numbers = np.arange(counts.size + 1.0)
    distribution[numbers[:, None] > activity.records] = 0.0  # nobody has more of these items than of all
    distribution *= inclusion.sum(axis=0) / np.maximum(numbers @ distribution, _TINY)
    return EstimatedActivity(numbers[1:], distribution[1:] @ activity.users, activity.scale)


def _solve_popularities(activity: EstimatedActivity, counts: Floats) -> Floats:
    """Return the popularities at which items have these counts."""
    low, high = np.full(counts.size, _RAREST), np.full(counts.size, _COMMONEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = inclusion_chances(activity, np.exp(middle)) @ activity.users > counts
        low, high = np.where(more, low, middle), np.where(more, middle, high)
    return np.asarray(np.exp((low + high) / 2))


def _solve_draws(records: Floats, popularities: Floats) -> Floats:
    """Return how often people drew who have so many different items, of which all but some are rare.

    >>> _solve_draws(np.array([1.0, 12.0]), np.array([0.5, 0.1])).round(1).tolist()
    [1.1, 25.2]
    """
    rest = max(1 - float(popularities.sum()), _MIN_REST)
    low, high = records, records / rest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = -np.expm1(-np.outer(popularities, middle)).sum(axis=0) + rest * middle > records
        low, high = np.where(more, low, middle), np.where(more, middle, high)
    return np.asarray((low + high) / 2)


def equal_share_activity(activity: EstimatedActivity, part: float) -> EstimatedActivity:
    """Return how many have how many records of some items, if these have that part of everybody's records.

    A person's own part differs from that, and by chance.

    >>> subset = equal_share_activity(EstimatedActivity(np.array([400.0]), np.array([60.0])), 0.1)
    >>> subset.records.round().tolist(), subset.users.round().tolist()
    ([18.0, 25.0, 32.0, 39.0, 49.0, 71.0], [10.0, 10.0, 10.0, 10.0, 10.0, 10.0])
    """
    expected = np.maximum(activity.records * part, _TINY)
    anything = -np.expm1(-expected)
    records = expected / anything
    wide = np.sqrt(np.log1p(_SHARE_DEVIATION**2 * np.minimum(expected, 1.0) + (1 - 1 / records) / records))
    sizes = np.maximum(records * np.exp(np.multiply.outer(_NORMAL_MIDPOINTS, wide) - wide**2 / 2), 1.0)
    users: Floats = np.broadcast_to(activity.users * anything / _NORMAL_MIDPOINTS.size, sizes.shape)
    distinct_records, places = np.unique(sizes.round(6), return_inverse=True)
    users_per_record = np.bincount(places.ravel(), weights=users.ravel()).astype(np.float64)
    return EstimatedActivity(distinct_records, users_per_record, activity.scale)


def mix_activities(first: EstimatedActivity, second: EstimatedActivity, part: float) -> EstimatedActivity:
    """Return what lies between the two: that part of the other, and of the one what is left.

    >>> one, other = EstimatedActivity(np.ones(1), np.array([4.0])), EstimatedActivity(np.array([2.0]), np.ones(1))
    >>> mix_activities(one, other, 0.25).users.tolist()
    [3.0, 0.25]
    """
    records = np.append(first.records, second.records)
    users = np.append((1 - part) * first.users, part * second.users)
    order = np.argsort(records, kind="stable")
    return EstimatedActivity(records[order], users[order], first.scale)


def estimate_mixing_weight(
    released: Floats, scale: float, first: EstimatedActivity, second: EstimatedActivity
) -> MixingWeight:
    """Return how far between two expectations what was released lies.

    >>> first, second = (EstimatedActivity(np.full(1, size), np.full(1, 50 * size)) for size in (1.0, 8.0))
    >>> noisy = np.append([48.0], np.zeros(21))
    >>> [round(value, 2) for value in estimate_mixing_weight(noisy, 5.0, first, second)]
    [0.0, 0.01, 0.0]
    """
    users = (1 - _MIXING_GRID[:, None]) * users_per_bin(first) + _MIXING_GRID[:, None] * users_per_bin(second)
    scales = np.hypot(scale, _PRIOR_DEVIATION_DISTINCT * users / np.sqrt(2))
    log_likelihood = -(np.abs(released - users) / scales + np.log(scales)).sum(axis=1)
    posterior = _MIXING_PRIOR * np.exp(log_likelihood - log_likelihood.max())
    posterior /= posterior.sum()
    most = _MIXING_GRID[int(np.searchsorted(np.cumsum(posterior), _UPPER_QUANTILE))]
    mean = float(posterior @ _MIXING_GRID)
    return MixingWeight(mean, float(np.sqrt(posterior @ (_MIXING_GRID - mean) ** 2)), float(most))
