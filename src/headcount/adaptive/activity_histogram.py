"""Activity histogram: users by number of records, in noisy bins, and the estimates that follow from it.

The bins are public and the same for every log: 1, 2, 3-4, 5-8, … records, the last one open. A user is in one bin.

Far bins are empty in most logs, and noise there would stand for thousands of records each. So bins count only up
to the end of the most significant run. A bin beyond it is taken for noise, unless noise is never that large. Where
bins hardly exceed the noise, and beyond them, a lognormal distribution says what to expect: an average over all
that fit the noisy bins. Priors on median and spread keep it from tails that no log has.

Only released numbers are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.adaptive.priors import NORMAL_MIDPOINTS, PRIORS, HistogramPriors, LognormalPriors, Priors
from headcount.bounds.counts.activity_histogram import BINS, LAST_EDGE, UPPER_ENDS, bin_of, lower_ends

Places = Integers

_LOWER_ENDS = tuple(lower_ends().tolist())
_LAST_OF_BINS = (*UPPER_ENDS.tolist(), 2 * LAST_EDGE)


@dataclass(frozen=True)
class EstimatedActivity:
    """So many ``users`` have so many ``records``: estimates, for representative numbers of records.

    ``scale`` is that of the noise in each bin.

    >>> activity = EstimatedActivity(np.array([1.0, 4.0]), np.array([10.0, 5.0]))
    >>> activity.total_records, activity.above(2).total_records
    (30.0, 20.0)
    """

    records: Floats
    users: Floats
    scale: float = 0.0

    @property
    def bins(self) -> Places:
        """The bin of each number of records."""
        return bin_of(np.ceil(self.records).astype(np.int64))

    @property
    def total_users(self) -> float:
        """How many users there are."""
        return float(self.users.sum())

    @property
    def total_records(self) -> float:
        """How many records they have."""
        return float((self.users * self.records).sum())

    @property
    def log_variance(self) -> float:
        """The variance of the logarithm of the number of records."""
        if self.total_users == 0:
            return 0.0
        logs = np.log(self.records)
        mean = (self.users * logs).sum() / self.total_users
        return float((self.users * (logs - mean) ** 2).sum() / self.total_users)

    @property
    def size_biased_mean(self) -> float:
        """How many records the user of a record has, on average over all records.

        >>> EstimatedActivity(np.array([1.0, 9.0]), np.array([9.0, 1.0])).size_biased_mean
        5.0
        """
        total = self.total_records
        return float((self.users * self.records**2).sum() / total) if total > 0 else 1.0

    def bin_position_error(self, deviation: float = PRIORS.histogram.bin_position_deviation) -> float:
        """Return the relative error of the number of records, where that of each bin has that deviation."""
        if self.total_users == 0:
            return 0.0
        shares = self.per_bin(self.users * self.records) / self.total_records
        single = lower_ends()[:-1] == UPPER_ENDS  # a bin for one number alone
        return deviation * float(np.sqrt((shares[:-1][~single] ** 2).sum() + shares[-1] ** 2))

    def per_bin(self, values: Floats | None = None) -> Floats:
        """Return the sums of some values over the representatives in each bin, or their number."""
        return np.asarray(np.bincount(self.bins, weights=values, minlength=BINS))

    def above(self, threshold: int) -> EstimatedActivity:
        """Return the heavy users, who have more than ``threshold`` records."""
        inside = self.records > threshold
        return EstimatedActivity(self.records[inside], self.users[inside], self.scale)

    def within(self, threshold: int) -> EstimatedActivity:
        """Return the light users, who have at most ``threshold`` records."""
        inside = self.records <= threshold
        return EstimatedActivity(self.records[inside], self.users[inside], self.scale)

    def sum_of(
        self, values_per_user: Floats, deviation: float = PRIORS.histogram.within_bin_deviation
    ) -> tuple[float, float]:
        """Return the sum over all users of what a user of each activity has, and its standard deviation.

        That is the noise in the bins, and a relative ``deviation`` for the positions of users in their bins.

        >>> activity = EstimatedActivity(np.array([1.0, 2.0]), np.array([10.0, 5.0]), scale=1.0)
        >>> activity.sum_of(np.array([1.0, 2.0]))[0]
        20.0
        """
        total = float((self.users * values_per_user).sum())
        means = self.per_bin(values_per_user) / np.maximum(self.per_bin(), 1)
        return total, float(self.scale * np.sqrt(2 * (means**2).sum()) + deviation * total)


@dataclass(frozen=True)
class UserEstimates:
    """What is known of the users of a table: their estimated activity, and an upper estimate of it.

    ``distinct`` says that users count once per column, ``squares`` that activity is in squares of records, so that
    it says little of how many records there are; ``cap`` is a public maximum of records per user.
    """

    estimated: EstimatedActivity
    upper: EstimatedActivity
    distinct: bool
    squares: bool = False
    cap: int | None = None

    @property
    def max_item_count(self) -> float:
        """The largest possible count of an item: no more than there may be users, where each counts once."""
        return self.upper.total_users if self.distinct else math.inf


def estimate_activity(
    noisy: Floats, scale: float, max_records: int | None = None, priors: Priors = PRIORS
) -> EstimatedActivity:
    """Estimate the activity from noisy numbers of users per bin, with Laplace noise of that scale.

    No user has more than ``max_records``, where that is known in advance. Within a bin, users are taken to be
    spread evenly over the logarithm of their number of records.

    >>> noisy = np.array([80.0, 43.0, -2.0, 20.0, 1.0, -3.0, 0.5, 0.1] + [0.0] * 12 + [15.0, 0.0])
    >>> activity = estimate_activity(noisy, 2.0)
    >>> round(activity.total_users), activity.records.max()
    (141, np.float64(8.0))
    """
    return estimate_with_upper(noisy, scale, max_records, priors)[0]


def estimate_with_upper(
    noisy: Floats, scale: float, max_records: int | None = None, priors: Priors = PRIORS
) -> tuple[EstimatedActivity, EstimatedActivity]:
    """Return :func:`estimate_activity`, and an upper estimate: the same with undetected heavier users.

    >>> noisy = np.array([80.0, 43.0, -2.0, 20.0, 1.0, -3.0, 0.5, 0.1] + [0.0] * 14)
    >>> [round(activity.total_users) for activity in estimate_with_upper(noisy, 2.0, max_records=40)]
    [141, 150]
    """
    prior = _fit_lognormal(noisy, scale, max_records, priors.lognormal)
    expected = _expected_users(noisy, scale, max_records, prior, priors.histogram)
    upper = _upper_users(noisy, scale, max_records, prior, expected, priors)
    return (
        spread_within_bins(expected, scale, max_records, priors.histogram),
        spread_within_bins(upper, scale, max_records, priors.histogram),
    )


def _upper_users(
    noisy: Floats,
    scale: float,
    max_records: int | None,
    prior: LognormalPosterior | None,
    expected: Floats,
    priors: Priors,
) -> Floats:
    """Return how many users each bin may have, where so many are expected.

    Beyond the last clear bin, users may be a share of those of the bin before, or go on falling as between the
    last clear bins, but ever faster; and no more than the noise may conceal.
    """
    tuned = priors.histogram
    raised, size = expected.copy(), _possible_bins(max_records)
    upper = np.maximum(noisy, 0.0) + tuned.undetected_scales * scale
    clear = raised[:size] > tuned.clear_scales * scale
    if prior is not None:
        perhaps = np.maximum(raised[:size], np.minimum(prior.possible(priors.lognormal), upper[:size]))
        perhaps = np.where(noisy[:size] > tuned.possible_scales * scale, upper[:size], perhaps)
        raised[:size] = np.where(clear, raised[:size], perhaps)
    share = tuned.undetected_share_unbounded if max_records is None else tuned.undetected_share
    users, room_per_bin, last = raised.tolist(), upper.tolist(), int(clear.nonzero()[0].max(initial=-1))
    falling = users[last] / max(users[last - 1], 1.0) if last > 0 else 0.0
    falling = falling if falling < tuned.max_decay else 0.0
    for place in range(last + 1, size):
        before = users[place - 1] if place > 0 else math.inf
        falling *= tuned.decay_factor
        users[place] = max(users[place], min(max(share, falling) * before, room_per_bin[place]))
    return np.array(users)


def spread_within_bins(
    users: Floats, scale: float, max_records: int | None, priors: HistogramPriors = PRIORS.histogram
) -> EstimatedActivity:
    """Spread the users of each bin over it, evenly on the scale of logarithms."""
    points, places, inverses = _points_of_bins(max_records, priors.points_per_bin)
    inside = (users > 0)[places]
    records = points[inside]
    return EstimatedActivity(records, users[places[inside]] / records / inverses[inside], scale)


def _expected_users(
    noisy: Floats,
    scale: float,
    max_records: int | None,
    prior: LognormalPosterior | None,
    priors: HistogramPriors,
) -> Floats:
    """Return how many users to expect in each bin: as measured where that is clear, else as the prior says."""
    users = clean_histogram(noisy, scale, max_records, priors)
    if prior is None:
        return users
    size, prior_mean = _possible_bins(max_records), prior.expected()
    gain = prior_mean**2 / (prior_mean**2 + 2 * scale**2)
    between = np.maximum(prior_mean + gain * (noisy[:size] - prior_mean), 0.0)
    beyond = np.minimum(prior_mean * priors.tail_share, 2 * scale)
    beyond[beyond < priors.min_tail_users] = 0.0
    inside = np.arange(size) <= np.flatnonzero(users).max(initial=-1)
    expected = np.zeros(BINS)
    expected[:size] = np.where(
        users[:size] > priors.clear_scales * scale, users[:size], np.where(inside, between, beyond)
    )
    return expected


def clean_histogram(
    noisy: Floats, scale: float, max_records: int | None = None, priors: HistogramPriors = PRIORS.histogram
) -> Floats:
    """Return numbers of users that are nowhere negative, and zero beyond the significant run of bins."""
    size = _possible_bins(max_records)
    end = _significant_end(noisy[:size] / scale if scale > 0 else noisy[:size] * np.inf, priors)
    cleaned = np.zeros(BINS)
    cleaned[:end] = _project_nonnegative(noisy[:end])
    return cleaned


def _possible_bins(max_records: int | None) -> int:
    """Return how many bins can hold any user."""
    return BINS if max_records is None else sum(lower <= max_records for lower in _LOWER_ENDS)


def _significant_end(scores: Floats, priors: HistogramPriors = PRIORS.histogram) -> int:
    """Return where the most significant run of neighbours ends; ``scores`` is in scales of noise.

    The last bin of a run must be significant by itself. If no run is, a few first bins are taken. Bins beyond a
    gap belong to the run if they more than make up for the gap, or are too large to be noise.

    >>> _significant_end(np.array([9.0, 1.0, 8.0, 2.5, 0.0, -1.0, 5.5]))
    3
    >>> _significant_end(np.array([90.0, 10.0, 1.6, 1.1, 1.0, 4.4])), _significant_end(np.array([90.0, 1.0, 7.5]))
    (2, 3)
    >>> _significant_end(np.array([1.0, 0.5, -1.0, 0.0, 0.0, 0.0, 6.0]))
    4
    >>> _significant_end(np.array([90.0, 0.5, -1.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0]))
    8
    """
    certain_end = int(np.flatnonzero(scores > priors.certain_scales).max(initial=-1)) + 1
    return max(_run_end(scores, priors), certain_end)


def _run_end(scores: Floats, priors: HistogramPriors) -> int:
    gains = np.nan_to_num(scores, nan=0.0, posinf=1e300, neginf=-1e300) - priors.run_scales
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    runs = (sums - np.minimum.accumulate(sums))[1:]
    end = int(np.argmax(runs)) + 1
    if runs[end - 1] < priors.min_run_scales:
        return min(priors.default_bins, scores.size)
    first = int(np.argmin(sums[:end]))
    joined = first + int(np.argmax(scores[first:end])) + 1
    for place in range(joined, end):
        added = gains[joined : place + 1]
        required = priors.min_scales_beyond_gap if added.min() < 0 else 0.0
        if scores[place] >= priors.significant_scales and added.sum() >= required:
            joined = place + 1
    return joined


def _project_nonnegative(values: Floats) -> Floats:
    """Return the nearest non-negative numbers with the same sum: cutting alone would raise it.

    >>> _project_nonnegative(np.array([5.0, -1.0, 3.0])).tolist()
    [4.5, 0.0, 2.5]
    """
    total = max(values.sum(), 0.0)
    falling = np.sort(values)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    inside = np.flatnonzero(falling > shifts)
    return np.asarray(np.maximum(values - shifts[inside[-1] if inside.size else 0], 0.0))


@cache
def _points_of_bins(max_records: int | None, points_per_bin: int) -> tuple[Floats, Places, Floats]:
    """Return the numbers of records that represent all bins, the bin of each, and the sum of inverses there."""
    ends = (upper if max_records is None else min(upper, max_records) for upper in _LAST_OF_BINS)
    bins = [
        _points_in_bin(lower, upper, points_per_bin)
        for lower, upper in zip(_LOWER_ENDS, ends, strict=True)
        if lower <= upper
    ]
    places = np.repeat(np.arange(len(bins)), [points.size for points in bins])
    inverses = np.array([(1 / points).sum() for points in bins])
    return np.concatenate(bins), places, inverses[places]


def _points_in_bin(lower: int, upper: int, number: int) -> Floats:
    """Return some numbers of records from ``lower`` to ``upper``, evenly spread over the logarithm if many."""
    if upper - lower < number:
        return np.arange(lower, upper + 1, dtype=np.float64)
    middles = (np.arange(number) + 0.5) / number
    return np.asarray((lower - 0.5) * ((upper + 0.5) / (lower - 0.5)) ** middles)


class LognormalPosterior(NamedTuple):
    """How likely each lognormal distribution is, given noisy numbers of users, and its users in each bin.

    ``shapes`` are shares of users per bin; ``total_deviation`` is the deviation of the total number of users.
    """

    weights: Floats
    users: Floats
    shapes: Floats
    total_deviation: Floats

    def expected(self) -> Floats:
        """Return how many users to expect in each bin."""
        return np.asarray(self.weights @ self.users)

    def possible(self, priors: LognormalPriors = PRIORS.lognormal) -> Floats:
        """Return an upper quantile of the users of each bin, over all distributions and their total numbers."""
        likely = self.weights > priors.min_relative_weight * self.weights.max()
        further = (
            np.multiply.outer(self.total_deviation[likely], NORMAL_MIDPOINTS)[:, None, :]
            * self.shapes[likely, :, None]
        )
        possible = self.users[likely, :, None] + further
        users = np.moveaxis(possible, 1, 0).reshape(self.users.shape[1], -1)
        order = np.argsort(users, axis=1)  # before they are cut off at zero: sorting is slow where many are equal
        weights = np.repeat(self.weights[likely], NORMAL_MIDPOINTS.size)
        below = np.cumsum(weights[order], axis=1) / NORMAL_MIDPOINTS.size
        places = (below < priors.upper_quantile).sum(axis=1)
        bins = np.arange(len(users))
        return np.asarray(np.maximum(users[bins, order[bins, places]], 0.0))


def _fit_lognormal(
    noisy: Floats, scale: float, max_records: int | None, priors: LognormalPriors
) -> LognormalPosterior | None:
    """Fit lognormal distributions to all bins that can hold any user, unless there is no noise."""
    size = _possible_bins(max_records)
    return fit_lognormals(noisy[:size], scale, UPPER_ENDS[:size], priors) if scale > 0 else None


def fit_lognormals(
    noisy: Floats, scale: float, upper_ends: Integers, priors: LognormalPriors = PRIORS.lognormal
) -> LognormalPosterior:
    """Fit all candidates to noisy numbers of users per bin, with Laplace noise of that scale.

    The first bins end at the ``upper_ends``; there may be one more, which is open.

    >>> noisy = np.array([100.0, 210.0, 390.0, 205.0, 95.0, 20.0, 0.0, 40.0])
    >>> posterior = fit_lognormals(noisy, 20.0, np.array([1, 2, 4, 8, 16, 32, 64, 128]))
    >>> posterior.expected()[5:].round() < [60, 20, 5]
    array([ True,  True,  True])
    >>> fit_lognormals(noisy[:6], 20.0, np.array([1, 2, 4, 8, 16, 32])).possible().round().tolist()[4:]
    [89.0, 12.0]
    """
    shapes, squares, logarithms = _lognormal_candidates(tuple(upper_ends.tolist()), noisy.size, priors)
    users = np.maximum(shapes @ noisy / squares, 0.0)[:, None] * shapes
    likelihood = logarithms - np.abs(noisy - users).sum(axis=1) / scale
    weights = np.exp(likelihood - likelihood.max())
    return LognormalPosterior(np.asarray(weights / weights.sum()), users, shapes, scale * np.sqrt(2 / squares))


@cache
def _lognormal_candidates(
    upper_ends: tuple[int, ...], bins: int, priors: LognormalPriors
) -> tuple[Floats, Floats, Floats]:
    """Return each candidate's share of users per bin, the sum of its squares, and the log of its prior."""
    log_ends = np.log2([0.5, *(end + 0.5 for end in upper_ends)])
    medians, spreads = (grid.ravel() for grid in np.meshgrid(priors.medians, priors.spreads, indexing="ij"))
    below = np.vectorize(math.erf)((log_ends - medians[:, None]) / (spreads[:, None] * math.sqrt(2)))
    inside = np.diff(below, axis=1, append=1.0)[:, :bins]
    prior = ((medians - priors.median[0]) / priors.median[1]) ** 2
    prior += ((spreads - priors.spread[0]) / priors.spread[1]) ** 2
    shapes = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-12)
    return shapes, np.maximum((shapes**2).sum(axis=1), 1e-12), np.asarray(-prior / 2)
