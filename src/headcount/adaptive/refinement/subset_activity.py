"""Refinement, subset activity: users by number of records of the refined items, from prior and noisy bins.

How many users have 1, 2, 3-4, … of the refined items is released, with noise that may conceal most of it. But
it is known how many records users have, and how popular the items are. If all drew from the same popularity, that
would say how many of these items users have; and mostly it says it well, where an item counts once. Where records
count, users may also have one item many times: then all items have equal shares in every user's records. The
expectation is a mixture of the two.

A bin that exceeds the noise clearly is taken as released, and any other by precision. Positions of users in their
bins are expected, too.

Only released numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity, clean_histogram, spread_within_bins
from headcount.adaptive.posterior import Posterior
from headcount.adaptive.priors import NORMAL_MIDPOINTS, PRIORS, Priors, SubsetPriors
from headcount.adaptive.scale_up import inclusion_chances
from headcount.bounds.counts.activity_histogram import BINS

_HALVINGS = 32
_RAREST, _COMMONEST = -40.0, 5.0  # logarithms of popularity
_TINY = 1e-9


class MixingWeight(NamedTuple):
    """How far between two expectations the released bins lie: mean, deviation and upper quantile."""

    mean: float
    deviation: float
    upper: float


UNKNOWN_WEIGHT = MixingWeight(0.5, 0.5, 1.0)
"""The weight where nothing was released."""


@dataclass(frozen=True, eq=False)
class SubsetActivity:
    """Users by records of the refined items: estimated and upper activity, and the deviation of each bin.

    ``mixing`` says how far records lie between items that users have once and items with equal shares.
    """

    estimated: EstimatedActivity
    upper: EstimatedActivity
    deviations: Floats
    mixing: MixingWeight = UNKNOWN_WEIGHT

    @property
    def undetected(self) -> Floats:
        """How many more users there may be in each bin."""
        return np.maximum(users_per_bin(self.upper) - users_per_bin(self.estimated), 0.0)


def users_per_bin(activity: EstimatedActivity) -> Floats:
    """Return how many users are in each bin."""
    return np.asarray(activity.per_bin(activity.users), dtype=np.float64)


def estimate_subset_activity(
    released: Floats,
    scale: float,
    estimated: EstimatedActivity,
    upper: EstimatedActivity,
    counts: Posterior,
    part: float | None = None,
    priors: Priors = PRIORS,
) -> SubsetActivity:
    """Estimate how many users have how many of some items, from released bins with Laplace noise of a scale.

    The activity of all users is known, as ``estimated`` and ``upper``, and the counts of the items. ``part`` is
    the part of all records that are about them; without it an item counts once.

    >>> activity = EstimatedActivity(np.array([1.0, 2.0, 9.0]), np.array([900.0, 400.0, 50.0]))
    >>> counts = Posterior(*np.full((3, 4), 60.0))
    >>> noisy = np.array([160.0, 12.0, -9.0] + [0.0] * 19)
    >>> subset = estimate_subset_activity(noisy, 10.0, activity, activity, counts)
    >>> subset.estimated.users.round().tolist()
    [160.0, 15.0, 2.0, 0.0]
    """
    tuned = priors.subset
    expected = distinct_draws_activity(estimated, counts.mean, tuned)
    possible = distinct_draws_activity(upper, counts.high, tuned)
    if part is None:
        return _posterior_activity(released, scale, expected, possible, counts.mean.size, priors)
    equal_share = equal_share_activity(estimated, part, tuned)
    mixing = estimate_mixing_weight(released, scale, expected, equal_share, tuned)
    expected = mix_activities(expected, equal_share, mixing.mean)
    possible = mix_activities(possible, equal_share_activity(upper, part, tuned), mixing.upper)
    return replace(_posterior_activity(released, scale, expected, possible, None, priors), mixing=mixing)


def _posterior_activity(
    released: Floats,
    scale: float,
    expected: EstimatedActivity,
    possible: EstimatedActivity,
    max_records: int | None,
    priors: Priors,
) -> SubsetActivity:
    """Combine released bins with expected and possible activity; no user has more than ``max_records``."""
    tuned, histogram = priors.subset, priors.histogram
    prior_mean, more = users_per_bin(expected), np.maximum(users_per_bin(possible), users_per_bin(expected))
    noise = 2 * scale**2
    relative_deviation = tuned.records_deviation if max_records is None else tuned.distinct_deviation
    prior_variances = (relative_deviation * prior_mean) ** 2
    gain = np.divide(prior_variances, prior_variances + noise, out=np.zeros(BINS), where=prior_variances > 0)
    significant = clean_histogram(released, scale, max_records, histogram)
    clear = significant > histogram.clear_scales * scale
    users = np.where(clear, significant, np.maximum(prior_mean + gain * (released - prior_mean), 0.0))
    room = np.maximum(released, 0.0) + histogram.undetected_scales * scale
    further = np.minimum((1 + tuned.upper_deviations * relative_deviation) * more, room)
    raised = np.where(clear, users, np.maximum(further, users))

    def place(users: Floats, expected: EstimatedActivity) -> EstimatedActivity:
        """Put so many users into each bin: where they are expected in it, or evenly where none are."""
        usual = users_per_bin(expected)
        alone = spread_within_bins(np.where(usual > _TINY, 0.0, users), scale, max_records, histogram)
        ratios = np.divide(users, usual, out=np.zeros(BINS), where=usual > _TINY)
        users_at_point = expected.users * ratios[expected.bins]
        occupied = users_at_point > 0
        records = np.append(expected.records[occupied], alone.records)
        order = np.argsort(records, kind="stable")
        return EstimatedActivity(records[order], np.append(users_at_point[occupied], alone.users)[order], scale)

    deviations = np.sqrt(np.where(clear, noise, gain * noise))
    return SubsetActivity(place(users, expected), place(raised, possible), deviations)


def distinct_draws_activity(
    activity: EstimatedActivity, counts: Floats, priors: SubsetPriors = PRIORS.subset
) -> EstimatedActivity:
    """Return how many have 1, 2, … of some items, if all draw from one popularity and an item counts once.

    ``counts`` says how many have each of them. A user with many items drew popular ones again and again.

    >>> activity = EstimatedActivity(np.array([2.0]), np.array([100.0]))
    >>> distinct_draws_activity(activity, np.array([50.0, 50.0])).users.round().tolist()
    [50.0, 25.0]
    """
    drawn = activity
    for _ in range(priors.rounds):
        popularities = _solve_popularities(drawn, counts)
        drawn = replace(drawn, records=_solve_draws(activity.records, popularities, priors.min_rest))
    inclusion = inclusion_chances(drawn, _solve_popularities(drawn, counts))
    distribution = np.zeros((counts.size + 1, activity.users.size))
    distribution[0] = 1.0
    for chance in inclusion:
        distribution[1:] = distribution[1:] * (1 - chance) + distribution[:-1] * chance
        distribution[0] *= 1 - chance
    numbers = np.arange(counts.size + 1.0)
    distribution[numbers[:, None] > activity.records] = 0.0  # no user has more of these items than of all
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


def _solve_draws(records: Floats, popularities: Floats, min_rest: float = PRIORS.subset.min_rest) -> Floats:
    """Return how often users drew who have so many different items, of which all but some are rare.

    >>> _solve_draws(np.array([1.0, 12.0]), np.array([0.5, 0.1])).round(1).tolist()
    [1.1, 25.2]
    """
    rest = max(1 - float(popularities.sum()), min_rest)
    low, high = records, records / rest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = -np.expm1(-np.outer(popularities, middle)).sum(axis=0) + rest * middle > records
        low, high = np.where(more, low, middle), np.where(more, middle, high)
    return np.asarray((low + high) / 2)


def equal_share_activity(
    activity: EstimatedActivity, part: float, priors: SubsetPriors = PRIORS.subset
) -> EstimatedActivity:
    """Return how many have how many records of some items, if these have that part of every user's records.

    A user's own part differs from that, and by chance.

    >>> subset = equal_share_activity(EstimatedActivity(np.array([400.0]), np.array([60.0])), 0.1)
    >>> subset.records.round().tolist(), subset.users.round().tolist()
    ([18.0, 25.0, 32.0, 39.0, 49.0, 71.0], [10.0, 10.0, 10.0, 10.0, 10.0, 10.0])
    """
    expected = np.maximum(activity.records * part, _TINY)
    anything = -np.expm1(-expected)
    records = expected / anything
    variance = priors.share_deviation**2 * np.minimum(expected, 1.0) + (1 - 1 / records) / records
    spread = np.sqrt(np.log1p(variance))
    sizes = np.maximum(records * np.exp(np.multiply.outer(NORMAL_MIDPOINTS, spread) - spread**2 / 2), 1.0)
    users: Floats = np.broadcast_to(activity.users * anything / NORMAL_MIDPOINTS.size, sizes.shape)
    distinct_records, places = np.unique(sizes.round(6), return_inverse=True)
    users_per_record = np.bincount(places.ravel(), weights=users.ravel()).astype(np.float64)
    return EstimatedActivity(distinct_records, users_per_record, activity.scale)


def mix_activities(first: EstimatedActivity, second: EstimatedActivity, part: float) -> EstimatedActivity:
    """Return a mixture of two activities, with that part of the second.

    >>> one, other = EstimatedActivity(np.ones(1), np.array([4.0])), EstimatedActivity(np.array([2.0]), np.ones(1))
    >>> mix_activities(one, other, 0.25).users.tolist()
    [3.0, 0.25]
    """
    records = np.append(first.records, second.records)
    users = np.append((1 - part) * first.users, part * second.users)
    order = np.argsort(records, kind="stable")
    return EstimatedActivity(records[order], users[order], first.scale)


def estimate_mixing_weight(
    released: Floats,
    scale: float,
    first: EstimatedActivity,
    second: EstimatedActivity,
    priors: SubsetPriors = PRIORS.subset,
) -> MixingWeight:
    """Return how far between two expectations the released bins lie.

    >>> first, second = (EstimatedActivity(np.full(1, size), np.full(1, 50 * size)) for size in (1.0, 8.0))
    >>> noisy = np.append([48.0], np.zeros(21))
    >>> [round(value, 2) for value in estimate_mixing_weight(noisy, 5.0, first, second)]
    [0.0, 0.01, 0.0]
    """
    grid = np.array(priors.mixing_grid)
    users = (1 - grid[:, None]) * users_per_bin(first) + grid[:, None] * users_per_bin(second)
    scales = np.hypot(scale, priors.distinct_deviation * users / np.sqrt(2))
    log_likelihood = -(np.abs(released - users) / scales + np.log(scales)).sum(axis=1)
    posterior = np.array(priors.mixing_prior) * np.exp(log_likelihood - log_likelihood.max())
    posterior /= posterior.sum()
    upper = grid[int(np.searchsorted(np.cumsum(posterior), priors.upper_quantile))]
    mean = float(posterior @ grid)
    return MixingWeight(mean, float(np.sqrt(posterior @ (grid - mean) ** 2)), float(upper))
