"""Scale-up model: from down-weighted counts of heavy users to full counts, from their activity alone.

The factors measured by popularity class are in class_scale_up.

A heavy user, with n records above the threshold θ, counts each with a weight below 1: θ/n, or √(θ/n) with Gaussian
noise. How much an item's heavy count has to be scaled up depends on who its heavy users are. The released
activity says how many of them there are with how many records; which items they have is modelled: all draw from
the same popularity.

Where records are counted, that makes one ratio for all items: Σ n / Σ w(n) n. Where users are counted, a user
has an item once however much they draw, with probability 1 - exp(-n q) for an item of popularity q: rare items
come with heavy users, in proportion to n, while everybody has the items that are popular enough. So the ratio
falls with popularity, from Σ n / Σ w(n) n down to Σ 1 / Σ w(n). Scaling all items alike overstates the most
popular ones, several-fold where activity is uneven.

Users by size (powers of two) combine the activity histogram with the class profile. The profile
(:mod:`headcount.bounds.counts.class_profile`) puts a user at the two powers of two around their number of records,
in such parts that the mean of the two is theirs. The histogram says how many users there are between two powers,
not where; the profile of all classes together says how many there are at each, with more noise. Users of a bin are
expected where an even spread over logarithms puts them, with a deviation; both kinds of noise are taken as normal.
So the best estimate is linear in the measurements (:mod:`headcount.adaptive.bayes_linear`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from headcount._internal.arrays import Flags, Floats, Integers
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.bayes_linear import update
from headcount.adaptive.priors import PRIORS, SizePriors

Norm = Literal["l1", "l2"]

POPULARITIES = np.concatenate([[0.0], np.geomspace(1e-10, 50, 800)])


@dataclass(frozen=True)
class ScaleUp:
    """The full counts of heavy users by their weighted counts: linear between the given points.

    >>> ScaleUp(np.array([0.0, 2.0]), np.array([0.0, 10.0])).apply(np.array([1.0, 4.0])).tolist()
    [5.0, 20.0]
    """

    weighed: Floats
    counted: Floats

    def apply(self, weighed: Floats) -> Floats:
        """Return the full counts; beyond the last point all users have the item, and its ratio stays."""
        inside = np.interp(weighed, self.weighed, self.counted)
        last = self.counted[-1] / self.weighed[-1]
        return np.asarray(np.where(weighed > self.weighed[-1], weighed * last, inside))


def weights(records: Floats, threshold: int, norm: Norm) -> Floats:
    """Return the weight of one record, by the number of records of its user.

    >>> weights(np.array([2.0, 16.0]), 4, "l1").tolist(), weights(np.array([2.0, 16.0]), 4, "l2").tolist()
    ([1.0, 0.25], [1.0, 0.5])
    """
    share = np.minimum(1.0, threshold / records)
    return share if norm == "l1" else np.sqrt(share)


def mean_ratio(heavy: EstimatedActivity, threshold: int, norm: Norm) -> float:
    """Return the average ratio of full to weighted records of heavy users; 0 if there are no such users.

    >>> mean_ratio(EstimatedActivity(np.array([16.0]), np.array([10.0])), 4, "l2")
    2.0
    """
    weighed = float((heavy.users * heavy.records * weights(heavy.records, threshold, norm)).sum())
    return heavy.total_records / weighed if weighed > 0 else 0.0


def scale_up(heavy: EstimatedActivity, threshold: int, norm: Norm, *, distinct: bool) -> ScaleUp:
    """Return how to scale up, for heavy users of that activity.

    >>> heavy = EstimatedActivity(np.array([8.0, 80.0]), np.array([10.0, 10.0]))
    >>> curve = scale_up(heavy, 4, "l1", distinct=True)
    >>> curve.apply(np.array([1e-6, 5.5])).round(6).tolist()
    [1.1e-05, 20.0]
    """
    if heavy.total_users == 0:
        return ScaleUp(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    record_weights = weights(heavy.records, threshold, norm)
    if not distinct:
        ends = (heavy.users * heavy.records * record_weights).sum(), heavy.total_records
        return ScaleUp(np.array([0.0, ends[0]]), np.array([0.0, ends[1]]))
    shares = inclusion_chances(heavy, POPULARITIES)
    return ScaleUp(shares @ (heavy.users * record_weights), shares @ heavy.users)


def inclusion_chances(activity: EstimatedActivity, popularities: Floats) -> Floats:
    """Return the probability that a user of each number of records has an item of each popularity."""
    return np.asarray(-np.expm1(-np.outer(popularities, activity.records)))


class Ratios(Protocol):
    """Ratios of full to weighted counts of heavy users (scale-up factors)."""

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return the factor of each of some items, given their weighted counts, and its relative deviation."""
        ...

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:
        """Return the relative deviation that equally popular items share."""
        ...


class ZeroRatios:
    """No heavy users are detected: their table holds noise alone."""

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return zeros."""
        return np.zeros(weighed.size), np.zeros(weighed.size)

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:  # noqa: ARG002
        """Return zeros."""
        return np.zeros(weighed.size)


class ModelRatios(NamedTuple):
    """Factors by a model of which items heavy users have."""

    full: ScaleUp
    deviation: float

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return the factors of the model, and its deviation."""
        full = self.full.apply(weighed)
        ratio = np.divide(full, weighed, out=np.ones_like(full), where=weighed > 0)
        return ratio, np.full(weighed.size, self.deviation)

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:  # noqa: ARG002
        """Return the deviation of the model: all items share it."""
        return np.full(weighed.size, self.deviation)


@dataclass(frozen=True, eq=False)
class MeasuredRatios:
    """Factors by popularity, linear between points of its logarithm; classes of one item have their own.

    ``item_deviation`` is the part of ``deviation`` by which equally popular items differ from each other.
    """

    classes: Integers
    single_item: Flags  # of classes
    own: Floats
    own_deviation: Floats
    points: Floats
    curve: Floats
    deviation: Floats
    item_deviation: Floats
    threshold: int

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return the factor of each of some items, and its relative deviation."""
        classes, at = self.classes[where], log_popularity(weighed, self.threshold)
        single_item = self.single_item[classes]
        return (
            np.where(single_item, self.own[classes], np.interp(at, self.points, self.curve)),
            np.where(single_item, self.own_deviation[classes], np.interp(at, self.points, self.deviation)),
        )

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:
        """Return the relative deviation that equally popular items share."""
        classes, at = self.classes[where], log_popularity(weighed, self.threshold)
        rest = np.sqrt(np.maximum(self.deviation**2 - self.item_deviation**2, 0.0))
        return np.where(self.single_item[classes], self.own_deviation[classes], np.interp(at, self.points, rest))


def log_popularity(weighed: Floats, threshold: int) -> Floats:
    """Return how popular items are: the logarithm of the number of users that weigh as much."""
    return np.asarray(np.log(np.maximum(weighed, 1e-6 * threshold) / threshold))


@dataclass(frozen=True, eq=False)
class UsersBySize:
    """So many users at each size; ``covariance`` is that of their numbers."""

    users: Floats
    covariance: Floats
    max_relative_variance: float = PRIORS.sizes.max_relative_variance

    def relative_deviation(self, above: Floats, below: Floats) -> float:
        """Return the relative deviation of a ratio of two weighted sums over sizes.

        >>> by_size = UsersBySize(np.array([100.0, 100.0]), np.diag([0.0, 400.0]))
        >>> round(by_size.relative_deviation(np.array([1.0, 3.0]), np.array([1.0, 1.0])), 3)
        0.05
        """
        gradient = above / (self.users @ above) - below / (self.users @ below)
        variance = gradient @ self.covariance @ gradient
        return float(np.sqrt(np.clip(variance, 0.0, self.max_relative_variance)))


def interpolate_users(activity: EstimatedActivity, records: Floats) -> Floats:
    """Put users at the two sizes around theirs, in such parts that the mean of the two is theirs.

    >>> activity = EstimatedActivity(np.array([5.0, 20.0]), np.array([8.0, 1.0]))
    >>> interpolate_users(activity, np.array([4.0, 8.0])).tolist()
    [6.0, 3.0]
    """
    below, above = _split_between_sizes(activity, records)
    return np.asarray(np.append(below, 0.0) + np.append(0.0, above))


def estimate_users_by_size(
    activity: EstimatedActivity,
    records: Floats,
    measured: Floats,
    variance: float,
    priors: SizePriors = PRIORS.sizes,
) -> UsersBySize:
    """Return the users at each size; ``measured`` are those of the class profile, with noise of a variance.

    >>> all_at_50 = EstimatedActivity(np.array([46.0]), np.array([1600.0]), scale=1.0)
    >>> sizes, measured = np.array([32.0, 64.0]), np.array([700.0, 900.0])
    >>> estimate_users_by_size(all_at_50, sizes, measured, 100.0).users.round().tolist()
    [700.0, 900.0]
    """
    below, above = _split_between_sizes(activity, records)
    users = below + above
    upper = np.divide(above, users, out=np.full_like(users, priors.upper_share), where=users > 0)
    noise = 2 * activity.scale**2
    bin_variance = np.divide(noise * users**2, users**2 + noise, out=np.zeros_like(users), where=users > 0)
    bins, sizes = users.size, records.size
    design = np.zeros((sizes, 2 * bins))  # at which size either part of the users of a bin is
    part_covariance = np.zeros((2 * bins, 2 * bins))
    for place in range(bins):
        design[place, 2 * place] = design[place + 1, 2 * place + 1] = 1.0
        parts, moved = np.array([1 - upper[place], upper[place]]), np.array([1.0, -1.0])
        here = slice(2 * place, 2 * place + 2)
        part_covariance[here, here] = bin_variance[place] * np.outer(parts, parts)
        position_variance = (priors.upper_share_deviation * users[place]) ** 2
        part_covariance[here, here] += position_variance * np.outer(moved, moved)
    prior_mean = design @ np.stack([below, above], axis=1).ravel()
    posterior = update(prior_mean, design @ part_covariance @ design.T, measured, variance * np.eye(sizes))
    posterior_mean = np.maximum(posterior.mean, 0.0)
    return UsersBySize(
        posterior_mean if posterior_mean.sum() > 0 else prior_mean,
        posterior.covariance,
        priors.max_relative_variance,
    )


def fit_fractional_users(
    activity: EstimatedActivity, records: Floats, measured: Floats, priors: SizePriors = PRIORS.sizes
) -> UsersBySize:
    """Return the same where users add less than 1 in all, and the less the larger they are.

    That is so where sizes are sums of squares. It is taken to fall with the power of the size that fits best.

    >>> activity = EstimatedActivity(np.array([6.0, 12.0]), np.array([80.0, 80.0]))
    >>> sizes, measured = np.array([4.0, 8.0, 16.0]), np.array([40.0, 40.0, 10.0])
    >>> fit_fractional_users(activity, sizes, measured).users.round().tolist()
    [40.0, 40.0, 10.0]
    """
    users = interpolate_users(activity, records)
    parts = users * (records / records[0]) ** np.array(priors.size_powers)[:, None]
    heights = np.maximum(parts @ measured, 0.0) / np.maximum((parts**2).sum(axis=1), 1e-12)
    squared_errors = ((measured - heights[:, None] * parts) ** 2).sum(axis=1)
    fitted_users = heights[np.argmin(squared_errors)] * parts[np.argmin(squared_errors)]
    fitted_users = fitted_users if fitted_users.sum() > 0 else users
    covariance = np.diag((priors.upper_share_deviation * fitted_users) ** 2)
    return UsersBySize(fitted_users, covariance, priors.max_relative_variance)


def _split_between_sizes(activity: EstimatedActivity, records: Floats) -> tuple[Floats, Floats]:
    """Return how many users between two neighbouring sizes are at the lower and at the upper one."""
    own = np.clip(activity.records, records[0], records[-1])
    bins = records.size - 1
    place = np.clip(np.searchsorted(records, own) - 1, 0, bins - 1)
    part = (own - records[place]) / (records[place + 1] - records[place])
    below, above = (
        np.bincount(place, weights=activity.users * fraction, minlength=bins) for fraction in (1 - part, part)
    )
    return np.asarray(below), np.asarray(above)
