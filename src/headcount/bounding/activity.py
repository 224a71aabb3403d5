"""How many people have 1, 2, 3, … records in a table: each person is in one place."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.arrays import Integers
from headcount.bounding.among import Among
from headcount.bounding.bound import Bound, CountTable, Norm, check_limit
from headcount.bounding.bounded import SEAL, Bounded, Sensitivity


@dataclass(frozen=True)
class Activity(Bound[Bounded]):
    """Each person once, at the number of their records in a table; the last place is for ``most`` or more.

    Where users are counted, a user's records are the different items, or pairs of item and context. With ``norm``
    "l2", a person is at the sum of squares of the numbers of records of each item; where users are counted, that
    is the same. With ``among``, records about other items are as if they were not there, and so is whoever has no
    others.
    """

    table: CountTable
    most: int
    norm: Norm = "l1"
    among: Among | None = None

    def __post_init__(self) -> None:
        check_limit(self.most, "most")


def certify_activity(users: Integers) -> Bounded:
    """Turn an engine's number of users with 1, 2, 3, … records into bounded values."""
    return Bounded(users, Sensitivity(l1=1, l2_squared=1, linf=1), SEAL)
