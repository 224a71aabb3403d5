"""How active people are: a released histogram of users by their number of records, and what follows from it.

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
from headcount.adaptive.lognormal_prior import UsualLaws, usual_laws
from headcount.bounds.counts.activity_bins import BINS, LAST_EDGE, UPPER_ENDS, bin_of, lower_ends

Places = Integers

_STANDS_OUT = 3.0  # scales of Laplace noise: an empty bin does so once in 40 times
_BELONGS = 2.0  # scales of noise by which bins of a run stand out on average
_WITHIN_BINS = 0.03  # of a sum over all users: where in their bins they are, if they are spread over several
_ANYWHERE_IN_A_BIN = 0.2  # of the records of one bin: see EstimatedActivity.misplaced
_UNMISTAKABLE = 9.0  # scales of noise: one of all bins does so once in 700 times
_PERHAPS = 5.5  # one of all bins does so once in 20 times: it is not believed, but may be true
_CLUSTER = 5.0  # scales by which neighbours together must stand out, or nothing is to be seen
_BEYOND_A_GAP = 4.0  # scales by which bins beyond a gap must make up for it: noise has many bins to do so in
_IF_NOTHING_IS_SEEN = 4  # so many bins are taken as they are
CLEAR = 4.0  # scales of noise above which a bin is taken as it is
_BEYOND = 0.75  # of what is expected beyond the run; no log has as long a tail as a log-normal law
_HARDLY_ANYBODY = 3.0  # people expected in a bin beyond the run
_POINTS = 8  # at most so many different numbers of records stand for a bin

# what may be hidden in the noise beyond the last bin that is clear: four fifths of the users of the bin before,
# or a third of them where the number of records has no end; or as many as if users went on falling from bin to bin
# as between the last clear ones, but ever faster; and no more than such noise hides
_FALLS, _FALLS_FASTER = 0.7, 0.85
_HIDDEN_SHARE = 0.8
_HIDDEN_SHARE_WITHOUT_END = 1 / 3
HIDDEN_SCALES = 1.5


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
    def unevenness(self) -> float:
        """The variance of the logarithm of the number of records."""
        if self.total_users == 0:
            return 0.0
        logs = np.log(self.records)
        mean = (self.users * logs).sum() / self.total_users
        return float((self.users * (logs - mean) ** 2).sum() / self.total_users)

    @property
    def behind_a_record(self) -> float:
        """How many records the person behind a record has, on average over all records.

        >>> EstimatedActivity(np.array([1.0, 9.0]), np.array([9.0, 1.0])).behind_a_record
        5.0
        """
        total = self.total_records
        return float((self.users * self.records**2).sum() / total) if total > 0 else 1.0

    @property
    def misplaced(self) -> float:
        """How far the number of records may be off, relatively, since users may be anywhere in their bins.

        Users of one bin, all at one end of it, have a quarter more or fewer records than was taken for granted; so
        a fifth is a deviation. Bins err independently of each other.
        """
        if self.total_users == 0:
            return 0.0
        places = bin_of(np.ceil(self.records).astype(np.int64))
        shares = np.bincount(places, weights=self.users * self.records, minlength=BINS) / self.total_records
        single = lower_ends()[:-1] == UPPER_ENDS  # a bin for one number alone
        return _ANYWHERE_IN_A_BIN * float(np.sqrt((shares[:-1][~single] ** 2).sum() + shares[-1] ** 2))

    def above(self, limit: int) -> EstimatedActivity:
        """Return those who have more than ``limit`` records."""
        inside = self.records > limit
        return EstimatedActivity(self.records[inside], self.users[inside], self.scale)

    def within(self, limit: int) -> EstimatedActivity:
        """Return those who have at most ``limit`` records."""
        inside = self.records <= limit
        return EstimatedActivity(self.records[inside], self.users[inside], self.scale)

    def sum_of(self, each: Floats) -> tuple[float, float]:
        """Return the sum over all users of what a user of each activity has, and its standard deviation.

        The deviation is that of the noise in the bins, and a little for where in their bins users are.

        >>> known = EstimatedActivity(np.array([1.0, 2.0]), np.array([10.0, 5.0]), scale=1.0)
        >>> known.sum_of(np.array([1.0, 2.0]))[0]
        20.0
        """
        total = float((self.users * each).sum())
        places = bin_of(np.ceil(self.records).astype(np.int64))
        sizes = np.bincount(places, minlength=BINS)
        means = np.bincount(places, weights=each, minlength=BINS) / np.maximum(sizes, 1)
        return total, float(self.scale * np.sqrt(2 * (means**2).sum()) + _WITHIN_BINS * total)


def histogram_table(users: Floats, width: float, of: str) -> pa.Table:
    """Make the table of released bins: ``users`` with ``width`` around each, by their number of what ``of`` says.

    >>> histogram_table(np.zeros(BINS), 3.0, "records").slice(2, 1).to_pylist()
    [{'from': 3, 'to': 4, 'users': 0.0, 'low': -3.0, 'high': 3.0, 'of': 'records'}]
    """
    first, last, words = _columns(of)
    return pa.table(
        {"from": first, "to": last, "users": users, "low": users - width, "high": users + width, "of": words}
    )


@cache
def _columns(of: str) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return what stands beside the numbers of users in any release: the ends of bins, and of what."""
    return (
        pa.array(lower_ends(), pa.int64()),
        pa.array([*UPPER_ENDS.tolist(), None], pa.int64()),
        pa.array([of] * BINS, pa.string()),
    )


def estimate(noisy: Floats, scale: float, most: int | None = None) -> EstimatedActivity:
    """Estimate the activity from noisy numbers of users per bin, with Laplace noise of that scale.

    Nobody has more than ``most`` records, where that is known in advance. Within a bin, users are taken to be
    spread evenly over the logarithm of their number of records.

    >>> noisy = np.array([80.0, 43.0, -2.0, 20.0, 1.0, -3.0, 0.5, 0.1] + [0.0] * 12 + [15.0, 0.0])
    >>> activity = estimate(noisy, 2.0)
    >>> round(activity.total_users), activity.records.max()
    (141, np.float64(8.0))
    """
    return evenly_spread(_expected(noisy, scale, most, _usual(noisy, scale, most)), scale, most)


def at_most(noisy: Floats, scale: float, most: int | None = None) -> EstimatedActivity:
    """Return as much activity as there may be: :func:`estimate`, and heavier users whom the noise may hide.

    >>> noisy = np.array([80.0, 43.0, -2.0, 20.0, 1.0, -3.0, 0.5, 0.1] + [0.0] * 14)
    >>> round(at_most(noisy, 2.0, most=40).total_users)
    150
    """
    return both(noisy, scale, most)[1]


def both(noisy: Floats, scale: float, most: int | None = None) -> tuple[EstimatedActivity, EstimatedActivity]:
    """Return :func:`estimate` and :func:`at_most`, which have most of their work in common."""
    usual = _usual(noisy, scale, most)
    users = _expected(noisy, scale, most, usual)
    return evenly_spread(users, scale, most), evenly_spread(_raised(noisy, scale, most, usual, users), scale, most)


def _raised(noisy: Floats, scale: float, most: int | None, usual: UsualLaws | None, expected: Floats) -> Floats:
    """Return how many users each bin may have, where so many are expected."""
    raised, size = expected.copy(), _possible(most)
    hidden = np.maximum(noisy, 0.0) + HIDDEN_SCALES * scale
    clear = raised[:size] > CLEAR * scale
    if usual is not None:
        perhaps = np.maximum(raised[:size], np.minimum(usual.possible(), hidden[:size]))
        perhaps = np.where(noisy[:size] > _PERHAPS * scale, hidden[:size], perhaps)
        raised[:size] = np.where(clear, raised[:size], perhaps)
    share = _HIDDEN_SHARE_WITHOUT_END if most is None else _HIDDEN_SHARE
    users, room, last = raised.tolist(), hidden.tolist(), int(clear.nonzero()[0].max(initial=-1))
    falling = users[last] / max(users[last - 1], 1.0) if last > 0 else 0.0
    falling = falling if falling < _FALLS else 0.0
    for place in range(last + 1, size):
        before = users[place - 1] if place > 0 else math.inf
        falling *= _FALLS_FASTER
        users[place] = max(users[place], min(max(share, falling) * before, room[place]))
    return np.array(users)


def _usual(noisy: Floats, scale: float, most: int | None) -> UsualLaws | None:
    """Fit what is usual to all bins that can hold anybody, unless there is no noise."""
    size = _possible(most)
    return usual_laws(noisy[:size], scale, UPPER_ENDS[:size]) if scale > 0 else None


def evenly_spread(users: Floats, scale: float, most: int | None) -> EstimatedActivity:
    """Spread the users of each bin over it, evenly on the scale of logarithms."""
    points, places, inverses = _all_points(most)
    inside = (users > 0)[places]
    records = points[inside]
    return EstimatedActivity(records, users[places[inside]] / records / inverses[inside], scale)


def _expected(noisy: Floats, scale: float, most: int | None, laws: UsualLaws | None) -> Floats:
    """Return how many users to expect in each bin: as measured where that is clear, and as usual elsewhere."""
    users = tidied(noisy, scale, most)
    if laws is None:
        return users
    size, usual = _possible(most), laws.expected()
    kept = usual**2 / (usual**2 + 2 * scale**2)
    between = np.maximum(usual + kept * (noisy[:size] - usual), 0.0)
    beyond = np.minimum(usual * _BEYOND, 2 * scale)
    beyond[beyond < _HARDLY_ANYBODY] = 0.0
    inside = np.arange(size) <= np.flatnonzero(users).max(initial=-1)
    found = np.zeros(BINS)
    found[:size] = np.where(users[:size] > CLEAR * scale, users[:size], np.where(inside, between, beyond))
    return found


def tidied(noisy: Floats, scale: float, most: int | None = None) -> Floats:
    """Return numbers of users that are nowhere negative, and zero beyond the run of bins that stands out."""
    size = _possible(most)
    end = _end_of_best_run(noisy[:size] / scale if scale > 0 else noisy[:size] * np.inf)
    tidy = np.zeros(BINS)
    tidy[:end] = _nowhere_negative(noisy[:end])
    return tidy


def _possible(most: int | None) -> int:
    """Return how many bins can hold anybody."""
    return BINS if most is None else sum(lower <= most for lower in _LOWER_ENDS)


def _end_of_best_run(seen: Floats) -> int:
    """Return where the run of neighbours ends that stands out most; ``seen`` is in scales of noise.

    At its end every bin must stand out by itself. If no run does, a few bins at the beginning have to do. What
    lies beyond a gap belongs to it if it more than makes up for the gap, and what is too large to be noise however
    far it is.

    >>> _end_of_best_run(np.array([9.0, 1.0, 8.0, 2.5, 0.0, -1.0, 5.5]))
    3
    >>> _end_of_best_run(np.array([90.0, 10.0, 1.6, 1.1, 1.0, 4.4])), _end_of_best_run(np.array([90.0, 1.0, 7.5]))
    (2, 3)
    >>> _end_of_best_run(np.array([1.0, 0.5, -1.0, 0.0, 0.0, 0.0, 6.0]))
    4
    >>> _end_of_best_run(np.array([90.0, 0.5, -1.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0]))
    8
    """
    end = int(np.flatnonzero(seen > _UNMISTAKABLE).max(initial=-1)) + 1
    return max(_end_of_run(seen), end)


def _end_of_run(seen: Floats) -> int:
    gains = np.nan_to_num(seen, nan=0.0, posinf=1e300, neginf=-1e300) - _BELONGS
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    runs = (sums - np.minimum.accumulate(sums))[1:]
    end = int(np.argmax(runs)) + 1
    if runs[end - 1] < _CLUSTER:
        return min(_IF_NOTHING_IS_SEEN, seen.size)
    first = int(np.argmin(sums[:end]))
    most = first + int(np.argmax(seen[first:end]))
    joined = most + 1
    for place in range(joined, end):
        added = gains[joined : place + 1]
        asked = _BEYOND_A_GAP if added.min() < 0 else 0.0
        if seen[place] >= _STANDS_OUT and added.sum() >= asked:
            joined = place + 1
    return joined


def _nowhere_negative(values: Floats) -> Floats:
    """Return the nearest non-negative numbers with the same sum: cutting alone would raise it.

    >>> _nowhere_negative(np.array([5.0, -1.0, 3.0])).tolist()
    [4.5, 0.0, 2.5]
    """
    total = max(values.sum(), 0.0)
    falling = np.sort(values)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    inside = np.flatnonzero(falling > shifts)
    return np.asarray(np.maximum(values - shifts[inside[-1] if inside.size else 0], 0.0))


@cache
def _all_points(most: int | None) -> tuple[Floats, Places, Floats]:
    """Return the numbers of records that stand for all bins, the bin of each, and what inverses there sum to."""
    ends = (upper if most is None else min(upper, most) for upper in _LAST_OF_BINS)
    bins = [_points(lower, upper) for lower, upper in zip(_LOWER_ENDS, ends, strict=True) if lower <= upper]
    places = np.repeat(np.arange(len(bins)), [points.size for points in bins])
    inverses = np.array([(1 / points).sum() for points in bins])
    return np.concatenate(bins), places, inverses[places]


def _points(lower: int, upper: int) -> Floats:
    """Return some numbers of records from ``lower`` to ``upper``, evenly spread over the logarithm if many."""
    if upper - lower < _POINTS:
        return np.arange(lower, upper + 1, dtype=np.float64)
    middles = (np.arange(_POINTS) + 0.5) / _POINTS
    return np.asarray((lower - 0.5) * ((upper + 0.5) / (lower - 0.5)) ** middles)
