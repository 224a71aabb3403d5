"""Totals over all users: the number of users, their records, and the clipped sum of a value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bound import FIXED_POINT, Bound, check_limit
from headcount.bounds.bounded import SEAL, Bounded, BoundedGroup, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.log import EventLog

MAX_EXACT = 2**53
"""Up to here whole numbers are exact floating-point numbers."""

_MOST = 2**62


@dataclass(frozen=True)
class FixedRange:
    """A declared range in whole multiples of 1 / ``unit``: values are rounded to these, then cut to the range.

    Sums are taken of the distances from ``middle``, which are ``half_width`` at most either way.

    >>> FixedRange.rounded(Decimal(1), Decimal(5), 4)
    FixedRange(low=4, high=20, unit=4)
    >>> declared = FixedRange.rounded(Decimal(1), Decimal(5), 4)
    >>> declared.middle, declared.half_width
    (12, 8)
    """

    low: int
    high: int
    unit: int

    @classmethod
    def rounded(cls, low: Decimal, high: Decimal, unit: int) -> FixedRange:
        """Round the ends of a range."""
        first, last = (int((end * unit).to_integral_value(ROUND_HALF_EVEN)) for end in (low, high))
        return cls(first, last, unit)

    @property
    def middle(self) -> int:
        """The middle of the range, rounded down."""
        return (self.low + self.high) // 2

    @property
    def half_width(self) -> int:
        """How far a value can be from the middle."""
        return max(self.high - self.middle, self.middle - self.low)


@dataclass(frozen=True)
class BoundedTotals(BoundedGroup):
    """The number of users, of their records, and the sum of values' distances from the middle of their range."""

    users: Bounded
    records: Bounded
    distances: Bounded | None

    @property
    def parts(self) -> tuple[Bounded, ...]:
        """The totals that there are."""
        return (self.users, self.records) if self.distances is None else (self.users, self.records, self.distances)

    def with_parts(self, parts: tuple[Bounded, ...]) -> BoundedTotals:
        """Return the same totals with other values."""
        users, records, *distances = parts
        return BoundedTotals(users, records, distances[0] if distances else None)


@dataclass(frozen=True)
class UserTotals(Bound[BoundedTotals]):
    """Each user once; ``limit`` of their records at most; and as much of the sum of their values.

    Values are cut to the range ``within``, if any; with or without a catalogue of items.
    """

    limit: int
    within: FixedRange | None = None
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_limit(self.limit)

    def reading(self, log: EventLog) -> Reading:
        """Whose record it is, that its item is listed if any are, and its value."""
        return Reading("listed" if log.has_catalogue else "any", "none", values=True)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> BoundedTotals:  # noqa: ARG002
        """Add up each user's records, and the distances of their values from the middle of a range.

        Sums that outgrow 64 bits wrap around, whatever the order of the rows: a user's part is cut to what one
        user may add afterwards.
        """
        coded, within = EncodedLog(log, self.reading(log)), self.within
        records, distances = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        for batch in passes.batches(coded, "adding up"):
            counts = batch.cells >= 0
            times = counts.astype(np.int64) if batch.times is None else batch.times * counts
            if coded.users.size > records.size:
                more = max(coded.users.size, 2 * records.size) - records.size
                records = np.concatenate([records, np.zeros(more, dtype=np.int64)])
                distances = np.concatenate([distances, np.zeros(more, dtype=np.int64)])
            np.add.at(records, batch.users, times)
            if batch.values is not None and within is not None:
                # cut before anything else: no value can overflow, nor make NumPy warn of it
                cut = np.clip(batch.values, within.low / within.unit, within.high / within.unit)
                fixed = np.rint(cut * within.unit).astype(np.int64)
                np.add.at(distances, batch.users, (fixed - within.middle) * times)
        return self.seal(records, None if within is None else distances)

    def seal(self, records: Integers, distances: Integers | None) -> BoundedTotals:
        """Turn each user's number of records, and sum of distances, into bounded totals.

        A user with n records counts with min(n, limit) of them, and with a sum of at most limit · reach either
        way: if n exceeds the limit, limit / n of their own sum, cut down to a whole number. A user without records
        is not there. Whatever the sums given, no user can add more: that is cut here, and so is a total beyond
        2^62.

        >>> totals = UserTotals(3, FixedRange(0, 4, 1)).seal(np.array([2, 0, 9]), np.array([4, 0, -18]))
        >>> [each.sensitive_values.tolist() for each in (totals.users, totals.records, totals.distances)]
        [[2], [5], [-2]]
        """
        limit, within = self.limit, self.within
        counted = np.clip(records, 0, limit)
        sealed = Bounded(_total((records > 0).astype(np.int64)), Sensitivity.of_l1(1), SEAL)
        kept = Bounded(_total(counted), Sensitivity.of_l1(limit), SEAL)
        if distances is None or within is None:
            return BoundedTotals(sealed, kept, None)
        part = np.where(records > limit, prorate(distances, np.maximum(records, 1), limit), distances)
        most = counted * within.half_width
        sums = Bounded(
            _total(np.clip(part, -most, most)),
            Sensitivity.of_l1(limit * within.half_width),
            SEAL,
            unit=within.unit,
        )
        return BoundedTotals(sealed, kept, sums)


def prorate(sums: Integers, many: Integers, limit: int) -> Integers:
    """Return limit / many of each sum, rounded down: exactly, whatever their size.

    >>> prorate(np.array([7, 2**61]), np.array([3, 6 * (2**31 - 1)]), 2**31 - 1).tolist()
    [5010795176, 384307168202282325]
    """
    whole, rest = np.divmod(sums, many)
    shared = np.asarray(whole * limit + rest * limit // many)
    for place in np.flatnonzero(many > 2**62 // limit):  # too large for 64 bits on the way
        shared[place] = int(sums[place]) * limit // int(many[place])
    return shared


def finest_unit(limit: int, low: Decimal, high: Decimal, epsilon: Fraction) -> int | None:
    """Return how finely values are counted: as the noise sampler and their size allow, in 2^-16 at best; or None.

    Known without data: it depends on the limit, the range and ε alone.

    >>> finest_unit(50, Decimal(1), Decimal(5), Fraction(1))
    65536
    >>> finest_unit(50, Decimal(0), Decimal(10**6), Fraction(1))
    32
    """
    unit = FIXED_POINT
    while unit >= 1:
        within = FixedRange.rounded(low, high, unit)
        if max(-within.low, within.high) <= MAX_EXACT and limit * within.half_width / epsilon <= 2**30:
            return unit
        unit //= 2
    return None


def _total(values: Integers) -> Integers:
    """Add up exactly, as one value."""
    high, low = np.divmod(values, 1 << 32)
    total = (int(high.sum()) << 32) + int(low.sum())
    return np.array([max(-_MOST, min(_MOST, total))], dtype=np.int64)
