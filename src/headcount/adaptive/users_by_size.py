"""Heavy users by size (powers of two): the activity histogram and the class profile combined.

Shares (:mod:`headcount.bounds.counts.class_profile`) put a person at the two powers of two around their number of
records, in such parts that the mean of the two is theirs. The histogram tells how many people there are between
two powers, not where; the shares of all classes together tell how many there are at each, with more noise. Both
together tell where between the powers people are, which decides how many records they have.

People of a bin are taken to be where an even spread over logarithms puts them, give or take; both kinds of noise
are taken as normal. So the best estimate is linear in what was released, and its covariance is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity

_BIN_POSITION_DEVIATION = 0.2  # deviation of the part of a bin's people who stand at its upper end
_POWERS = np.linspace(-1.0, 0.0, 21)
_MAX_RELATIVE_VARIANCE = (
    1.0  # relative variance of a ratio of which nothing is known, as where there is hardly anybody
)
_EVEN_UPPER_SHARE = 0.44  # that part, if they are spread evenly over logarithms


@dataclass(frozen=True, eq=False)
class UsersBySize:
    """So many people stand at each size; ``covariance`` says how sure that is."""

    users: Floats
    covariance: Floats

    def relative_deviation(self, above: Floats, below: Floats) -> float:
        """Return how far a ratio of two sums over people may be off, relatively, each size having its weights.

        >>> by_size = UsersBySize(np.array([100.0, 100.0]), np.diag([0.0, 400.0]))
        >>> round(by_size.relative_deviation(np.array([1.0, 3.0]), np.array([1.0, 1.0])), 3)
        0.05
        """
        gradient = above / (self.users @ above) - below / (self.users @ below)
        return float(np.sqrt(np.clip(gradient @ self.covariance @ gradient, 0.0, _MAX_RELATIVE_VARIANCE)))


def interpolate_users(activity: EstimatedActivity, records: Floats) -> Floats:
    """Put people at the two sizes around theirs, in such parts that the mean of the two is theirs.

    >>> activity = EstimatedActivity(np.array([5.0, 20.0]), np.array([8.0, 1.0]))
    >>> interpolate_users(activity, np.array([4.0, 8.0])).tolist()
    [6.0, 3.0]
    """
    below, above = _split_between_sizes(activity, records)
    return np.asarray(np.append(below, 0.0) + np.append(0.0, above))


def estimate_users_by_size(
    activity: EstimatedActivity, records: Floats, measured: Floats, variance: float
) -> UsersBySize:
    """Return the people at each size: ``measured`` is what shares say of that, with noise of a variance.

    >>> all_at_50 = EstimatedActivity(np.array([46.0]), np.array([1600.0]), scale=1.0)
    >>> sizes, measured = np.array([32.0, 64.0]), np.array([700.0, 900.0])
    >>> estimate_users_by_size(all_at_50, sizes, measured, 100.0).users.round().tolist()
    [700.0, 900.0]
    """
    below, above = _split_between_sizes(activity, records)
    users = below + above
    upper = np.divide(above, users, out=np.full_like(users, _EVEN_UPPER_SHARE), where=users > 0)
    noise = 2 * activity.scale**2
    bin_variance = np.divide(noise * users**2, users**2 + noise, out=np.zeros_like(users), where=users > 0)
    bins, sizes = users.size, records.size
    design = np.zeros((sizes, 2 * bins))  # at which size either part of the people of a bin stands
    part_covariance = np.zeros((2 * bins, 2 * bins))
    for place in range(bins):
        design[place, 2 * place] = design[place + 1, 2 * place + 1] = 1.0
        parts, moved = np.array([1 - upper[place], upper[place]]), np.array([1.0, -1.0])
        here = slice(2 * place, 2 * place + 2)
        part_covariance[here, here] = bin_variance[place] * np.outer(parts, parts)
        part_covariance[here, here] += (_BIN_POSITION_DEVIATION * users[place]) ** 2 * np.outer(moved, moved)
    prior_mean, prior_covariance = (
        design @ np.stack([below, above], axis=1).ravel(),
        design @ part_covariance @ design.T,
    )
    gain = np.linalg.solve(prior_covariance + variance * np.eye(sizes), prior_covariance).T
    posterior_mean = np.maximum(prior_mean + gain @ (measured - prior_mean), 0.0)
    return UsersBySize(
        posterior_mean if posterior_mean.sum() > 0 else prior_mean, prior_covariance - gain @ prior_covariance
    )


def fit_fractional_users(activity: EstimatedActivity, records: Floats, measured: Floats) -> UsersBySize:
    """Return the same where people add less than 1 in all, and the less the larger they are.

    That is so where sizes are sums of squares. It is taken to fall with a power of the size, the one that fits.

    >>> activity = EstimatedActivity(np.array([6.0, 12.0]), np.array([80.0, 80.0]))
    >>> sizes, measured = np.array([4.0, 8.0, 16.0]), np.array([40.0, 40.0, 10.0])
    >>> fit_fractional_users(activity, sizes, measured).users.round().tolist()
    [40.0, 40.0, 10.0]
    """
    users = interpolate_users(activity, records)
    parts = users * (records / records[0]) ** _POWERS[:, None]
    heights = np.maximum(parts @ measured, 0.0) / np.maximum((parts**2).sum(axis=1), 1e-12)
    squared_errors = ((measured - heights[:, None] * parts) ** 2).sum(axis=1)
    fitted_users = heights[np.argmin(squared_errors)] * parts[np.argmin(squared_errors)]
    fitted_users = fitted_users if fitted_users.sum() > 0 else users
    return UsersBySize(fitted_users, np.diag((_BIN_POSITION_DEVIATION * fitted_users) ** 2))


def _split_between_sizes(activity: EstimatedActivity, records: Floats) -> tuple[Floats, Floats]:
    """Return how many people between two neighbouring sizes stand at the lower and at the upper one."""
    own = np.clip(activity.records, records[0], records[-1])
    bins = records.size - 1
    place = np.clip(np.searchsorted(records, own) - 1, 0, bins - 1)
    part = (own - records[place]) / (records[place + 1] - records[place])
    below, above = (
        np.bincount(place, weights=activity.users * fraction, minlength=bins) for fraction in (1 - part, part)
    )
    return np.asarray(below), np.asarray(above)
