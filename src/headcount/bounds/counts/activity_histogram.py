"""Activity histogram: the number of users by their number of records; each user is in one bin."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, CountTable, Norm, check_limit
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.counts.item_subset import ItemSubset


@dataclass(frozen=True)
class ActivityHistogram(Bound[Bounded]):
    """Each person once, at the number of their records in a table; the last place is for ``most`` or more.

    Where users are counted, a user's records are the different items, or pairs of item and context. With ``norm``
    "l2", a person is at the sum of squares of the numbers of records of each item; where users are counted, that
    is the same. With ``among``, records about other items are as if they were not there, and so is whoever has no
    others. With ``ends``, rising numbers, there is a place for everybody up to each, and one for all beyond the
    last, whoever has more than ``most`` being where that many are.
    """

    table: CountTable
    most: int
    norm: Norm = "l1"
    among: ItemSubset | None = None
    ends: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_limit(self.most, "most")
        if any(lower >= upper for lower, upper in pairwise((0, *self.ends))):
            raise ValueError(f"ends must rise, from 1 or more, and not be {self.ends}")

    @property
    def places(self) -> int:
        """How many places there are."""
        return len(self.ends) + 1 if self.ends else self.most


def seal_activity_histogram(users: Integers) -> Bounded:
    """Turn an engine's number of users in each place into bounded values."""
    return Bounded(users, Sensitivity(l1=1, l2_squared=1, linf=1), SEAL)
