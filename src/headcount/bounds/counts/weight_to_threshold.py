"""Weight all records of each user down to a clipping threshold (in L1, or in L2 squared)."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.bounds.bound import FIXED_POINT, Norm
from headcount.bounds.counts.count_bound import CountBound, ItemSubset


@dataclass(frozen=True)
class WeightToThreshold(CountBound):
    """All records of each user, weighted so that a user adds at most ``limit`` in all.

    A user with n records counts each with weight min(1, limit / n), cut down to whole multiples of 2^-16. Where
    users are counted, n is the number of different items for the item counts, and of different pairs for the
    edges. With ``norm`` "l2", the weight is min(1, √(limit / n)) and the sum of squares is at most ``limit``;
    where records are counted, n is then the sum of squares of the numbers of records of each item, which is no
    less than that of each item in each context.

    With ``apart``, users with at most ``limit`` records are counted in one table and the others in a second one.
    A user is in one of them, so both together move no further than one.

    With ``among``, records about other items are as if they were not there: they neither count nor weigh others
    down.

    >>> WeightToThreshold(3).sensitivity("users")
    Sensitivity(l1=196608, l2_squared=12884901888, linf=65536)
    >>> WeightToThreshold(3, norm="l2").sensitivity("users", 12)
    Sensitivity(l1=393216, l2_squared=12884901888, linf=65536)
    """

    norm: Norm = "l1"
    apart: bool = False
    among: ItemSubset | None = None

    @property
    def unit(self) -> int:
        """Weights are whole multiples of 2^-16."""
        return FIXED_POINT
