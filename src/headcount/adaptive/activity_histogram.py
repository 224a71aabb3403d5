"""Activity histogram: users by number of records, in released bins, and the estimates that follow from it.

The bins are public and the same for every log: 1, 2, 3-4, 5-8, … records, the last one open. A user is in one bin.
From the noisy numbers come estimates of how many people have how many records; nothing else about the log is used.

Far bins are empty in most logs, and noise there would stand for thousands of records each. So bins count as they
are only up to the end of the run of bins that stands out most; what stands out alone, far from the others, is
taken for noise, unless noise is never that large. Where bins hardly stand out, and beyond them, a log-normal law
that is fitted to all of them (:mod:`headcount.adaptive.lognormal_prior`) says what to expect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats, Integers
from headcount.adaptive.lognormal_prior import LognormalPosterior, fit_lognormals
from headcount.bounds.counts.activity_histogram import BINS, LAST_EDGE, UPPER_ENDS, bin_of, lower_ends

Places = Integers

_SIGNIFICANT_SCALES = 3.0  # scales of Laplace noise: an empty bin does so once in 40 times
_RUN_SCALES = 2.0  # scales of noise by which bins of a run stand out on average
_WITHIN_BIN_DEVIATION = (
    0.03  # of a sum over all users: where in their bins they are, if they are spread over several
)
_BIN_POSITION_DEVIATION = 0.2  # of the records of one bin: see EstimatedActivity.misplaced
_CERTAIN_SCALES = 9.0  # scales of noise: one of all bins does so once in 700 times
_POSSIBLE_SCALES = 5.5  # one of all bins does so once in 20 times: it is not believed, but may be true
_MIN_RUN_SCALES = 5.0  # scales by which neighbours together must stand out, or nothing is to be seen
_MIN_SCALES_BEYOND_GAP = (
    4.0  # scales by which bins beyond a gap must make up for it: noise has many bins to do so in
)
_DEFAULT_BINS = 4  # so many bins are taken as they are
CLEAR_SCALES = 4.0  # scales of noise above which a bin is taken as it is
_TAIL_SHARE = 0.75  # of what is expected beyond the run; no log has as long a tail as a log-normal law
_MIN_TAIL_USERS = 3.0  # people expected in a bin beyond the run
_POINTS = 8  # at most so many different numbers of records stand for a bin

# what may be hidden in the noise beyond the last bin that is clear: four fifths of the users of the bin before,
# or a third of them where the number of records has no end; or as many as if users went on falling from bin to bin
# as between the last clear ones, but ever faster; and no more than such noise hides
_MAX_DECAY, _DECAY_FACTOR = 0.7, 0.85
_UNDETECTED_SHARE = 0.8
_UNDETECTED_SHARE_UNBOUNDED = 1 / 3
UNDETECTED_SCALES = 1.5


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
    def total_users(self) -> float:
        """How many people there are."""
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
        """How many records the person behind a record has, on average over all records.

        >>> EstimatedActivity(np.array([1.0, 9.0]), np.array([9.0, 1.0])).size_biased_mean
        5.0
        """
        total = self.total_records
        return float((self.users * self.records**2).sum() / total) if total > 0 else 1.0

    @property
    def bin_position_error(self) -> float:
        """How far the number of records may be off, relatively, since users may be anywhere in their bins.

        Users of one bin, all at one end of it, have a quarter more or fewer records than was taken for granted; so
        a fifth is a deviation. Bins err independently of each other.
        """
        if self.total_users == 0:
            return 0.0
        places = bin_of(np.ceil(self.records).astype(np.int64))
        shares = np.bincount(places, weights=self.users * self.records, minlength=BINS) / self.total_records
        single = lower_ends()[:-1] == UPPER_ENDS  # a bin for one number alone
        return _BIN_POSITION_DEVIATION * float(np.sqrt((shares[:-1][~single] ** 2).sum() + shares[-1] ** 2))

    def above(self, limit: int) -> EstimatedActivity:
        """Return those who have more than ``limit`` records."""
        inside = self.records > limit
        return EstimatedActivity(self.records[inside], self.users[inside], self.scale)

    def within(self, limit: int) -> EstimatedActivity:
        """Return those who have at most ``limit`` records."""
        inside = self.records <= limit
        return EstimatedActivity(self.records[inside], self.users[inside], self.scale)

    def sum_of(self, values_per_user: Floats) -> tuple[float, float]:
        """Return the sum over all users of what a user of each activity has, and its standard deviation.

        The deviation is that of the noise in the bins, and a little for where in their bins users are.

        >>> activity = EstimatedActivity(np.array([1.0, 2.0]), np.array([10.0, 5.0]), scale=1.0)
        >>> activity.sum_of(np.array([1.0, 2.0]))[0]
        20.0
        """
        total = float((self.users * values_per_user).sum())
        places = bin_of(np.ceil(self.records).astype(np.int64))
        sizes = np.bincount(places, minlength=BINS)
        means = np.bincount(places, weights=values_per_user, minlength=BINS) / np.maximum(sizes, 1)
        return total, float(self.scale * np.sqrt(2 * (means**2).sum()) + _WITHIN_BIN_DEVIATION * total)


def histogram_table(users: Floats, width: float, scope: str) -> pa.Table:
    """Make the table of released bins: ``users`` with ``width`` around each, by their number of ``scope``.

    >>> histogram_table(np.zeros(BINS), 3.0, "records").slice(2, 1).to_pylist()
    [{'from': 3, 'to': 4, 'users': 0.0, 'low': -3.0, 'high': 3.0, 'of': 'records'}]
    """
    first, last, words = _columns(scope)
    return pa.table(
        {"from": first, "to": last, "users": users, "low": users - width, "high": users + width, "of": words}
    )


@cache
def _columns(scope: str) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return what stands beside the numbers of users in any release: the ends of bins, and of what."""
    return (
        pa.array(lower_ends(), pa.int64()),
        pa.array([*UPPER_ENDS.tolist(), None], pa.int64()),
        pa.array([scope] * BINS, pa.string()),
    )


def estimate_activity(noisy: Floats, scale: float, most: int | None = None) -> EstimatedActivity:
    """Estimate the activity from noisy numbers of users per bin, with Laplace noise of that scale.

    Nobody has more than ``most`` records, where that is known in advance. Within a bin, users are taken to be
    spread evenly over the logarithm of their number of records.

    >>> noisy = np.array([80.0, 43.0, -2.0, 20.0, 1.0, -3.0, 0.5, 0.1] + [0.0] * 12 + [15.0, 0.0])
    >>> activity = estimate_activity(noisy, 2.0)
    >>> round(activity.total_users), activity.records.max()
    (141, np.float64(8.0))
    """
    return spread_within_bins(_expected_users(noisy, scale, most, _fit_lognormal(noisy, scale, most)), scale, most)


def upper_activity(noisy: Floats, scale: float, most: int | None = None) -> EstimatedActivity:
    """Return an upper estimate of activity: :func:`estimate_activity`, and undetected heavier users.

    >>> noisy = np.array([80.0, 43.0, -2.0, 20.0, 1.0, -3.0, 0.5, 0.1] + [0.0] * 14)
    >>> round(upper_activity(noisy, 2.0, most=40).total_users)
    150
    """
    return estimate_with_upper(noisy, scale, most)[1]


def estimate_with_upper(
    noisy: Floats, scale: float, most: int | None = None
) -> tuple[EstimatedActivity, EstimatedActivity]:
    """Return :func:`estimate_activity` and :func:`upper_activity`, which have most of their work in common."""
    usual = _fit_lognormal(noisy, scale, most)
    users = _expected_users(noisy, scale, most, usual)
    return spread_within_bins(users, scale, most), spread_within_bins(
        _upper_users(noisy, scale, most, usual, users), scale, most
    )


def _upper_users(
    noisy: Floats, scale: float, most: int | None, prior: LognormalPosterior | None, expected: Floats
) -> Floats:
    """Return how many users each bin may have, where so many are expected."""
    raised, size = expected.copy(), _possible_bins(most)
    upper = np.maximum(noisy, 0.0) + UNDETECTED_SCALES * scale
    clear = raised[:size] > CLEAR_SCALES * scale
    if prior is not None:
        perhaps = np.maximum(raised[:size], np.minimum(prior.possible(), upper[:size]))
        perhaps = np.where(noisy[:size] > _POSSIBLE_SCALES * scale, upper[:size], perhaps)
        raised[:size] = np.where(clear, raised[:size], perhaps)
    share = _UNDETECTED_SHARE_UNBOUNDED if most is None else _UNDETECTED_SHARE
    users, room_per_bin, last = raised.tolist(), upper.tolist(), int(clear.nonzero()[0].max(initial=-1))
    falling = users[last] / max(users[last - 1], 1.0) if last > 0 else 0.0
    falling = falling if falling < _MAX_DECAY else 0.0
    for place in range(last + 1, size):
        before = users[place - 1] if place > 0 else math.inf
        falling *= _DECAY_FACTOR
        users[place] = max(users[place], min(max(share, falling) * before, room_per_bin[place]))
    return np.array(users)


def _fit_lognormal(noisy: Floats, scale: float, most: int | None) -> LognormalPosterior | None:
    """Fit what is usual to all bins that can hold anybody, unless there is no noise."""
    size = _possible_bins(most)
    return fit_lognormals(noisy[:size], scale, UPPER_ENDS[:size]) if scale > 0 else None


def spread_within_bins(users: Floats, scale: float, most: int | None) -> EstimatedActivity:
    """Spread the users of each bin over it, evenly on the scale of logarithms."""
    points, places, inverses = _points_of_bins(most)
    inside = (users > 0)[places]
    records = points[inside]
    return EstimatedActivity(records, users[places[inside]] / records / inverses[inside], scale)


def _expected_users(noisy: Floats, scale: float, most: int | None, prior: LognormalPosterior | None) -> Floats:
    """Return how many users to expect in each bin: as measured where that is clear, and as usual elsewhere."""
    users = clean_histogram(noisy, scale, most)
    if prior is None:
        return users
    size, prior_mean = _possible_bins(most), prior.expected()
    gain = prior_mean**2 / (prior_mean**2 + 2 * scale**2)
    between = np.maximum(prior_mean + gain * (noisy[:size] - prior_mean), 0.0)
    beyond = np.minimum(prior_mean * _TAIL_SHARE, 2 * scale)
    beyond[beyond < _MIN_TAIL_USERS] = 0.0
    inside = np.arange(size) <= np.flatnonzero(users).max(initial=-1)
    expected = np.zeros(BINS)
    expected[:size] = np.where(
        users[:size] > CLEAR_SCALES * scale, users[:size], np.where(inside, between, beyond)
    )
    return expected


def clean_histogram(noisy: Floats, scale: float, most: int | None = None) -> Floats:
    """Return numbers of users that are nowhere negative, and zero beyond the run of bins that stands out."""
    size = _possible_bins(most)
    end = _significant_end(noisy[:size] / scale if scale > 0 else noisy[:size] * np.inf)
    tidy = np.zeros(BINS)
    tidy[:end] = _project_nonnegative(noisy[:end])
    return tidy


def _possible_bins(most: int | None) -> int:
    """Return how many bins can hold anybody."""
    return BINS if most is None else sum(lower <= most for lower in _LOWER_ENDS)


def _significant_end(scores: Floats) -> int:
    """Return where the run of neighbours ends that stands out most; ``scores`` is in scales of noise.

    At its end every bin must stand out by itself. If no run does, a few bins at the beginning have to do. What
    lies beyond a gap belongs to it if it more than makes up for the gap, and what is too large to be noise however
    far it is.

    >>> _significant_end(np.array([9.0, 1.0, 8.0, 2.5, 0.0, -1.0, 5.5]))
    3
    >>> _significant_end(np.array([90.0, 10.0, 1.6, 1.1, 1.0, 4.4])), _significant_end(np.array([90.0, 1.0, 7.5]))
    (2, 3)
    >>> _significant_end(np.array([1.0, 0.5, -1.0, 0.0, 0.0, 0.0, 6.0]))
    4
    >>> _significant_end(np.array([90.0, 0.5, -1.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0]))
    8
    """
    end = int(np.flatnonzero(scores > _CERTAIN_SCALES).max(initial=-1)) + 1
    return max(_run_end(scores), end)


def _run_end(scores: Floats) -> int:
    gains = np.nan_to_num(scores, nan=0.0, posinf=1e300, neginf=-1e300) - _RUN_SCALES
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    runs = (sums - np.minimum.accumulate(sums))[1:]
    end = int(np.argmax(runs)) + 1
    if runs[end - 1] < _MIN_RUN_SCALES:
        return min(_DEFAULT_BINS, scores.size)
    first = int(np.argmin(sums[:end]))
    most = first + int(np.argmax(scores[first:end]))
    joined = most + 1
    for place in range(joined, end):
        added = gains[joined : place + 1]
        required = _MIN_SCALES_BEYOND_GAP if added.min() < 0 else 0.0
        if scores[place] >= _SIGNIFICANT_SCALES and added.sum() >= required:
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
def _points_of_bins(most: int | None) -> tuple[Floats, Places, Floats]:
    """Return the numbers of records that stand for all bins, the bin of each, and what inverses there sum to."""
    ends = (upper if most is None else min(upper, most) for upper in _LAST_OF_BINS)
    bins = [_points_in_bin(lower, upper) for lower, upper in zip(_LOWER_ENDS, ends, strict=True) if lower <= upper]
    places = np.repeat(np.arange(len(bins)), [points.size for points in bins])
    inverses = np.array([(1 / points).sum() for points in bins])
    return np.concatenate(bins), places, inverses[places]


def _points_in_bin(lower: int, upper: int) -> Floats:
    """Return some numbers of records from ``lower`` to ``upper``, evenly spread over the logarithm if many."""
    if upper - lower < _POINTS:
        return np.arange(lower, upper + 1, dtype=np.float64)
    middles = (np.arange(_POINTS) + 0.5) / _POINTS
    return np.asarray((lower - 0.5) * ((upper + 0.5) / (lower - 0.5)) ** middles)
