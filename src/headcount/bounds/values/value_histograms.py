"""Value histograms per group on a public grid: each user's records weigh at most max_records in all.

Each record of a person weighs 1, or ``limit`` / n if they have n > ``limit`` records. So a person's weights sum to
at most ``limit`` over all groups and cells together, and what comes out is a histogram of records in which nobody
weighs more than that.

Weights are whole multiples of 1 / ``unit``. What a person with more records than the limit has up to each cell is
rounded, and a cell gets what that grows by: so nothing is lost on the way, and no cell gets less than 0. It is
rounded to the nearest: cut down, it would move all ranks the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.bounds.bound import Bound, check_limit
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.errors import UsageError, param
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog

By = Literal["contexts", "items"]
"""What records are told apart by, beside their values."""

MIN_UNITS = 512
"""A person's weights come to at least so many units where they have as many records as they may."""

MAX_RECORDS = 1 << 16
"""Up to this limit no sum of weights, multiplied as scores are, outgrows 64 bits."""


@dataclass(frozen=True)
class ValueGrid:
    """Cells of values, told apart by ``borders``: a value on one belongs to the cell above it.

    >>> ValueGrid((1.5, 2.5)).cells_of(np.array([-9.0, 1.5, 2.4, 99.0])).tolist()
    [0, 1, 1, 2]
    """

    borders: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.borders) + 1

    def cells_of(self, values: Floats) -> Integers:
        """Return the cell of each value."""
        return np.searchsorted(np.array(self.borders), values, side="right").astype(np.int64)


@dataclass(frozen=True)
class UserValues(Bound[Bounded]):
    """The weights of each person's records, ``limit`` at most in all, in the cells of a grid and of each group.

    Without a value column all records are in one cell. Nothing is drawn.
    """

    limit: int
    grid: ValueGrid = ValueGrid()
    by: By | None = None
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_limit(self.limit)
        if self.limit > MAX_RECORDS:
            raise UsageError(
                f"a limit of {self.limit:,} is too large to weigh each record by itself",
                remedy=f"quantiles and numbers of groups take up to {param.limit(MAX_RECORDS)}",
            )

    @property
    def unit(self) -> int:
        """How many units a whole record weighs."""
        return -(-MIN_UNITS // self.limit)

    @property
    def most(self) -> int:
        """How many units one person adds at most."""
        return self.limit * self.unit

    def groups(self, log: EventLog) -> int:
        """Return how many groups there are, which is public; contexts have the unknown one in the last place."""
        if self.by == "items":
            return len(log.catalogue.ids)
        return log.width if self.by == "contexts" else 1

    def reading(self, log: EventLog) -> Reading:
        """Whose record it is, in which group, and its value."""
        contexts: Literal["beside", "none"] = "beside" if self.by == "contexts" else "none"
        return Reading("listed" if log.has_catalogue else "any", contexts, values=True)


def seal_user_values(sums: Integers, bound: UserValues) -> Bounded:
    """Seal what people's records weigh in all, by group and cell: an engine has seen to each person's limit.

    >>> seal_user_values(np.array([[48, 48]]), UserValues(2, ValueGrid((1.5,)))).sensitivity.l1
    512
    """
    if sums.shape[1:] != (bound.grid.size,):
        raise ValueError(f"there must be {bound.grid.size} cells in each group, not {sums.shape[1:]}")
    return Bounded(sums, Sensitivity.of_l1(bound.most), SEAL, unit=bound.unit)


@dataclass(frozen=True)
class UserGroups(Bound[Bounded]):
    """Each person once in each of their groups: the ``limit`` ones where they have the most records."""

    limit: int
    by: By = "contexts"
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def weighed(self) -> UserValues:
        """What says which groups there are, and what is read."""
        return UserValues(1, by=self.by)

    def reading(self, log: EventLog) -> Reading:
        """Whose record it is, and in which group."""
        return self.weighed.reading(log)


def seal_user_groups(users: Integers, bound: UserGroups) -> Bounded:
    """Seal the number of people in each group; an engine has seen to each person's limit.

    >>> seal_user_groups(np.array([3, 0, 1]), UserGroups(2)).sensitivity
    Sensitivity(l1=2, l2_squared=2, linf=1)
    """
    most = min(bound.limit, users.size)
    return Bounded(users, Sensitivity(l1=most, l2_squared=most, linf=1), SEAL)
