"""Utility scores of public candidates, and how differently one user changes two of them.

A score takes what bounds made, and makes :class:`Scored`, for noise to choose from. Utilities are whole numbers,
so that the spread holds to the last digit. What depends on public numbers alone, such as the noise to expect,
moves with nobody and may be rounded in any fixed way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import repeat

import numpy as np

from headcount._internal.arrays import Integers
from headcount._internal.threads import parallel_map
from headcount.bounds.bound import FIXED_POINT
from headcount.bounds.bounded import SEAL, Bounded, Scored, Sensitivity
from headcount.bounds.counts.record_cap import CappedRecords
from headcount.errors import UsageError

SCALE_PERCENTS = range(100, 201)
"""The factors by which DPSense-S may scale counts up."""

_MOST_CANDIDATES = 200_000_000
_FINE = 1 << 16  # what one user moves, about: fine enough, and gaps of thousands of users still count
_FARTHEST = 2**61  # of what is public: far beyond any choice, and within 64 bits together with what is not
TAIL_SPREAD = math.isqrt(2 * _FINE**2) + 2
"""How differently one user moves two numbers of coefficients: see :func:`tail_scores`."""

_LIMITS_AT_ONCE = 1 << 12
_THREADS = 2
_FEW_RECORDS = 1 << 12


def capped_total_scores(activity: Bounded, columns: int, epsilon: Fraction) -> Scored:
    """Weigh every limit θ in 1..K for DPSense: the records it keeps, less the noise it calls for.

    ``activity`` says how many users have 1, 2, …, K or more records. The utility of θ, in records, is
    Σ min(n_u, θ) - d · θ / ε, for d ``columns``.

    A user with n records adds min(n, θ) to it: 1 for θ = 1, and between 1 and K for any θ. So one user moves two
    candidates by at most K - 1 differently.

    >>> activity = Bounded(np.array([5, 0, 2]), Sensitivity(l1=1, l2_squared=1, linf=1), SEAL)
    >>> capped_total_scores(activity, 2, Fraction(1)).sensitive_gaps  # utilities 5, 5 and 5
    array([0, 0, 0], dtype=int32)
    """
    if type(activity) is not Bounded:
        raise TypeError(f"scores take Bounded values alone, not {type(activity).__name__}")
    if activity.sensitivity != Sensitivity(l1=1, l2_squared=1, linf=1) or len(activity.shape) != 1:
        raise ValueError(f"{activity} is not a histogram of users")
    users = activity.sensitive_values
    at_least = np.cumsum(users[::-1])[::-1]  # users with so many records or more
    kept = np.cumsum(at_least)
    return Scored(kept - _whole_multiples(columns / epsilon, users.size), max(users.size - 1, 1), SEAL)


def count_scores(counts: Bounded) -> Scored:
    """Weigh items by their counts.

    A user who joins raises a count by L∞ at most and lowers none, however many counts that are: 1, where every
    user counts once per item.

    >>> counts = Bounded(np.array([5, 9]), Sensitivity(l1=50, l2_squared=50, linf=1), SEAL)
    >>> count_scores(counts).sensitive_gaps, count_scores(counts).rise
    (array([4, 0], dtype=int32), 1)
    """
    if type(counts) is not Bounded:
        raise TypeError(f"scores take Bounded values alone, not {type(counts).__name__}")
    rise = counts.sensitivity.linf
    return Scored(counts.sensitive_values.ravel().copy(), rise, SEAL, rise=rise)


def tail_scores(transformed: Bounded, sizes: Sequence[int], penalties: Sequence[float]) -> Scored:
    """Weigh how many coefficients FPA keeps: the norm of those it leaves out, plus the public ``penalties``.

    ``transformed`` are the n coefficients of an orthonormal transform times √n, and ``penalties`` are in records:
    L2 norms, as the norm of what is left out is. Utilities count 2^-16 of Δ, the L2 sensitivity.

    Of two candidates, one leaves out the coefficients B, the other one A as well. What they leave out differs by
    √(a² + b²) - b in norm, where a and b are the norms of A and of B. A user moves the point (a, b) by at most
    Δ, and the slope of that difference is nowhere above √2: its square is 2 - 2 b / √(a² + b²). So two candidates
    are moved by at most √2 · Δ differently (not 2 · Δ, as if they had nothing in common); rounding down four
    numbers adds less than 2.
    """
    if type(transformed) is not Bounded:
        raise TypeError(f"scores take Bounded values alone, not {type(transformed).__name__}")
    values, l2_squared = transformed.sensitive_values.ravel(), transformed.sensitivity.l2_squared
    if len(sizes) != len(penalties) or not 0 <= min(sizes) <= max(sizes) <= values.size:
        raise ValueError(f"sizes must lie between 0 and {values.size}, each with its penalty")
    left_out = _tail_energies(values, sizes)
    records = _FINE * transformed.unit * math.sqrt(values.size / l2_squared)  # so many utilities make one record
    utilities = [
        -math.isqrt(_FINE**2 * left_out[size] // l2_squared) - math.ceil(min(records * penalty, _FARTHEST))
        for size, penalty in zip(sizes, penalties, strict=True)
    ]
    return Scored(np.array(utilities, dtype=np.int64), TAIL_SPREAD, SEAL)


def scaled_scores(rows: CappedRecords, epsilon: Fraction) -> Scored:
    """Weigh every limit θ and factor α for DPSense-S: how far α times the limited counts are from the true ones.

    Candidate (θ - 1) · 101 + (100 α - 100) is θ in 1..``most`` with α in 1.00, 1.01, …, 2.00. A user with r > θ
    records counts each of them as θ / r. The utility is -Σ_j |α · C_j - c_j| - α · θ · d / ε, where c_j are the
    records in column j of d, and C_j the same under the limit. In whole numbers: C_j in 2^-16 of a record, from
    sums of ⌊2^32 / r⌋; all in 1 / (100 · 2^16) of a record; then in multiples of m, chosen so that one user
    moves it by 2^16 or a little more.

    One user's k records in column j move the difference by k · (α w - 1), for a weight w between 0 and 1, and
    |α w - 1| <= 1 as α <= 2; cutting C_j down to whole units changes its move by less than one unit, and the
    difference by less than α units. Over all of a user's columns, at most ``most`` and at most d, that is at most
    K = 100 · 2^16 · most + 200 · min(most, d), and ⌈K / m⌉ after rounding down to multiples of m. It may go up for
    one candidate and down for another, hence twice that.

    64 bits hold all this for up to 2^31 records in a column and 2^37 in all.
    """
    if type(rows) is not CappedRecords:
        raise TypeError(f"these scores take CappedRecords alone, not {type(rows).__name__}")
    check_candidates(rows.most)
    coarse, spread = _coarse(rows.most, rows.width)
    utilities = np.empty((rows.most, len(SCALE_PERCENTS)), dtype=np.int64)
    factors = np.array(SCALE_PERCENTS)
    noise = float(FIXED_POINT * rows.width / epsilon)
    for first, distances in _distances(rows):
        limits = np.arange(first, first + len(distances))
        penalties = np.minimum(np.outer(limits, factors) * noise, _FARTHEST).astype(np.int64)
        utilities[first - 1 : first - 1 + len(distances)] = -(distances + penalties) // coarse
    return Scored(utilities.ravel(), spread, SEAL)


def scaled_spread(most: int, width: int) -> int:
    """Return how differently one user moves two candidates of DPSense-S, for limits up to ``most``."""
    return _coarse(most, width)[1]


def _coarse(most: int, width: int) -> tuple[int, int]:
    furthest = 100 * FIXED_POINT * most + 200 * min(most, width)
    coarse = max(1, furthest // _FINE)
    return coarse, 2 * -(-furthest // coarse)


def check_candidates(most: int) -> None:
    """Refuse a grid of limits and factors that is too large to weigh."""
    if most * len(SCALE_PERCENTS) > _MOST_CANDIDATES:
        raise UsageError(
            f"DPSense-S weighs {len(SCALE_PERCENTS)} candidates for each of {most:,} limits, more than "
            f"{_MOST_CANDIDATES:,} in all",
            remedy="use dpsense, a smaller catalogue or fewer contexts",
        )


def _whole_multiples(step: Fraction, size: int) -> Integers:
    """Return ⌊step⌋, ⌊2 · step⌋, … exactly."""
    if max(step.numerator * size, step.denominator) < _FARTHEST:
        return np.arange(1, size + 1) * step.numerator // step.denominator
    return np.array([min(math.floor(step * times), _FARTHEST) for times in range(1, size + 1)], dtype=np.int64)


def _tail_energies(values: Integers, sizes: Sequence[int]) -> dict[int, int]:
    """Return the sum of squares of all but the first so many values, for each size, exactly."""
    from headcount.bounds.scores import kernels

    energies, beyond, end = {}, 0, values.size
    for size in sorted(set(sizes), reverse=True):
        high, low = kernels.sum_of_squares(values[size:end])
        beyond += (int(high) << 64) + int(low)
        energies[size] = beyond
        end = size
    return energies


def _distances(rows: CappedRecords) -> Iterator[tuple[int, Integers]]:
    """Yield Σ_j |100 α · C_j - 100 · c_j|, in units, for all factors and some limits at once: the first, and they.

    Columns are split among threads, which add up. Above the largest r nothing is cut.
    """
    largest = int(rows.sums[-1]) if rows.sums.size else 0
    if largest > rows.most:
        raise ValueError(f"{rows} hold a user with more records")
    borders = np.linspace(0, rows.width, _THREADS + 1).astype(np.int64)
    with parallel_map(_THREADS, few=rows.columns.size < _FEW_RECORDS) as run:
        parts = list(run(_ColumnSweep, repeat(rows), borders[:-1], borders[1:]))
        for first in range(1, largest, _LIMITS_AT_ONCE):
            size = min(_LIMITS_AT_ONCE, largest - first)
            shares = run(_ColumnSweep.distances, parts, repeat(first), repeat(size))
            yield first, np.sum(list(shares), axis=0)
    uncut = (np.array(SCALE_PERCENTS) - 100) * FIXED_POINT * rows.columns.size
    for first in range(max(largest, 1), rows.most + 1, _LIMITS_AT_ONCE):
        yield first, np.tile(uncut, (min(_LIMITS_AT_ONCE, rows.most + 1 - first), 1))


class _ColumnSweep:
    """Some columns of the rows, swept from low limits to high ones."""

    def __init__(self, rows: CappedRecords, first: int, end: int) -> None:
        from headcount.bounds.scores import kernels

        self._rows, self._first, self._row = rows, first, 0
        self._counts, self._light, self._heavy = np.zeros((3, end - first), dtype=np.int64)
        unit = FIXED_POINT**2
        kernels.begin_sweep(rows.sums, rows.starts, rows.columns, first, unit, self._counts, self._heavy)
        self._turns = np.full(end - first, len(SCALE_PERCENTS), dtype=np.uint8)
        self._turned = np.zeros(len(SCALE_PERCENTS) + 1, dtype=np.int64)
        self._turned[-1] = self._counts.sum()

    def distances(self, first_limit: int, size: int) -> Integers:
        """Return the distances of these columns for the next ``size`` limits."""
        from headcount.bounds.scores import kernels

        rows, out = self._rows, np.empty((size, len(SCALE_PERCENTS)), dtype=np.int64)
        self._row = kernels.sweep(
            rows.sums, rows.starts, rows.columns, self._first, FIXED_POINT**2, FIXED_POINT.bit_length() - 1,
            SCALE_PERCENTS.start, self._counts, self._light, self._heavy, self._turns, self._turned,
            self._row, first_limit, out,
        )  # fmt: skip
        return out
