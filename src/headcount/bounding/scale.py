"""All records of each person, weighed down until they keep the limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.bounding.among import Among
from headcount.bounding.bound import FIXED_POINT, Norm
from headcount.bounding.counting import CountBound

LARGEST_FACTOR = 1 << 15
"""How far records may lean: limit · factor · 2^16 stays below 2^62."""


@dataclass(frozen=True, eq=False)
class Leaning:
    """How much more a record about one item weighs than about another: public whole numbers, one an item."""

    factors: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.factors.min(initial=1) < 1 or self.factors.max(initial=1) > LARGEST_FACTOR:
            raise ValueError(f"factors must lie between 1 and {LARGEST_FACTOR}")

    def of_items(self, items: int) -> NDArray[np.int64]:
        """Return the factors, which must be those of so many items: kernels do not look."""
        if self.factors.shape != (items,) or self.factors.dtype != np.int64:
            raise ValueError(f"there must be {items} factors, not {self.factors.shape} of {self.factors.dtype}")
        return self.factors


@dataclass(frozen=True)
class Scale(CountBound):
    """All records of each user, weighted so that a user adds at most ``limit`` in all.

    A user with n records counts each with weight min(1, limit / n), cut down to whole multiples of 2^-16. Where
    users are counted, n is the number of different items for the item counts, and of different pairs for the
    edges. With ``norm`` "l2", the weight is min(1, √(limit / n)) and the sum of squares is at most ``limit``;
    where records are counted, n is then the sum of squares of the numbers of records of each item, which is no
    less than that of each item in each context.

    With ``apart``, users with at most ``limit`` records are counted in one table and the others in a second one.
    A user is in one of them, so both together move no further than one.

    With ``leaning``, a user above the limit fills it up like a set of tubs: each record gets min(1, c · factor of
    its item), with the one c at which all together weigh the limit.

    With ``among``, records about other items are as if they were not there: they neither count nor weigh others
    down.

    >>> from headcount.bounding.counting import sensitivity
    >>> sensitivity(Scale(3), "users")
    Sensitivity(l1=196608, l2_squared=12884901888, linf=65536)
    >>> sensitivity(Scale(3, norm="l2"), "users", 12)
    Sensitivity(l1=393216, l2_squared=12884901888, linf=65536)
    """

    norm: Norm = "l1"
    apart: bool = False
    leaning: Leaning | None = None
    among: Among | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm == "l2" and self.leaning is not None:
            raise ValueError("records cannot lean where the sum of squares is limited")

    @property
    def unit(self) -> int:
        """Weights are whole multiples of 2^-16."""
        return FIXED_POINT
