"""Reference of totals: users, their records, and the sum of their values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from headcount.bounds.values.user_totals import BoundedTotals, FixedRange, UserTotals
from headcount.events.log import EventLog
from tests.reference.registry import measures
from tests.reference.rows import Name, with_values


@measures(UserTotals)
def sum_totals(log: EventLog, bound: UserTotals, secret: bytes) -> BoundedTotals:
    """Add up how many records each person adds, ``limit`` at most, and how much to the sum of distances.

    Of a person with more records, that is as large a part of their own sum as is counted of their records.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> sum_totals(log, UserTotals(1), bytes(16)).records.sensitive_values
    array([2])
    """
    within, limit = bound.within, bound.limit
    records: dict[Name, int] = {}
    distances: dict[Name, int] = {}
    for who, many, value in with_values(log, bound):
        records[who] = records.get(who, 0) + many
        if value is not None and within is not None:
            distances[who] = distances.get(who, 0) + many * _distance(value, within)
    kept = np.array([min(many, limit) for many in records.values()], dtype=np.int64)
    if within is None:
        return bound.seal(kept, None)
    sums = [_part(_wrapped(distances.get(who, 0)), many, limit, within) for who, many in records.items()]
    return bound.seal(kept, np.array(sums, dtype=np.int64))


def _distance(value: float, within: FixedRange) -> int:
    """Return how far a value lies from the middle of its range, in units; of two equally near units the even one.

    >>> [_distance(value, FixedRange(0, 4, 1)) for value in (-9.0, 0.5, 1.5, 2.2, 9.0)]
    [-2, -2, 0, 0, 2]
    """
    return min(max(round(Fraction(value) * within.unit), within.low), within.high) - within.middle


def _part(total: int, many: int, limit: int, within: FixedRange) -> int:
    """Return the part of a person's sum that counts, rounded down; never more than their records can come to.

    >>> _part(-18, 9, 4, FixedRange(0, 4, 1)), _part(7, 3, 4, FixedRange(0, 4, 1))
    (-8, 6)
    """
    counted = min(many, limit)
    most = counted * within.half_width
    return min(max(total if many <= limit else total * limit // many, -most), most)


def _wrapped(total: int) -> int:
    """Return what 64 bits hold of a sum."""
    return (total + 2**63) % 2**64 - 2**63
