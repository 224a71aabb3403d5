"""Value histograms per group on a public grid: each user's records weigh at most max_records in all.

Each record of a user weighs 1, or ``limit`` / n if they have n > ``limit`` records. So a user's weights sum to
at most ``limit`` over all groups and cells together, and what comes out is a histogram of records in which nobody
weighs more than that.

Weights are whole multiples of 1 / ``unit``. What a user with more records than the limit has up to each cell is
rounded, and a cell gets what that grows by: so nothing is lost on the way, and no cell gets less than 0. It is
rounded to the nearest: cut down, it would move all ranks the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.bounds.bound import VectorBound, check_limit
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.values.user_totals import prorate
from headcount.errors import UsageError, param
from headcount.events.encode.passes import CodedBatch, EncodedLog, Reading
from headcount.events.log import EventLog

By = Literal["contexts", "items"]
"""What records are told apart by, beside their values."""

MIN_UNITS = 512
"""A user's weights come to at least so many units where they have as many records as they may."""

_HELD = 1 << 22  # rows that are put together at a time
_MOST_RECORDS = 1 << 40  # of one user in one place: beyond that there is no difference

Held = tuple[Integers, Integers]
"""A number for each user and place, and how many records are there."""

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
class UserValues(VectorBound):
    """The weights of each user's records, ``limit`` at most in all, in the cells of a grid and of each group.

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
        """How many units one user adds at most."""
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

    def sensitivity(self, size: int) -> Sensitivity:  # noqa: ARG002
        """Return how far one user moves the weights: by no more units than they add."""
        return Sensitivity.of_l1(self.most)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Weigh the records that each user has in each place."""
        width = self.groups(log) * self.grid.size
        keys, records = _records_by_place(passes, log, self, width)
        sums = np.zeros(width, dtype=np.int64)
        np.add.at(sums, keys % width, _weights_of_places(keys // width, records, self))
        return self.seal(sums.reshape(-1, self.grid.size))

    def seal(self, sums: Integers) -> Bounded:
        """Seal what users' records weigh in all, by group and cell.

        >>> UserValues(2, ValueGrid((1.5,))).seal(np.array([[48, 48]])).sensitivity.l1
        512
        """
        if sums.shape[1:] != (self.grid.size,):
            raise ValueError(f"there must be {self.grid.size} cells in each group, not {sums.shape[1:]}")
        return super().seal(sums)


@dataclass(frozen=True)
class UserGroups(VectorBound):
    """Each user once in each of their groups: the ``limit`` ones where they have the most records."""

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

    def sensitivity(self, size: int) -> Sensitivity:
        """Return how far one user moves so many groups.

        >>> UserGroups(2).sensitivity(3)
        Sensitivity(l1=2, l2_squared=2, linf=1)
        """
        most = min(self.limit, size)
        return Sensitivity(l1=most, l2_squared=most, linf=1)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Count users in their groups, those where they have the most records first, then in public order."""
        width = self.weighed.groups(log)
        keys, records = _records_by_place(passes, log, self.weighed, width)
        users, places = keys // width, keys % width
        order = np.lexsort((places, -records, users))
        users, places = users[order], places[order]
        starts = np.searchsorted(users, users)
        kept = places[np.arange(users.size) - starts < self.limit]
        return self.seal(np.bincount(kept, minlength=width).astype(np.int64))


def _records_by_place(passes: Passes, log: EventLog, bound: UserValues, width: int) -> Held:
    """Add up how many records each user has in each place: keys tell both, and are sorted."""
    coded = EncodedLog(log, bound.reading(log))
    held, more, rows = _nothing(), [_nothing()], 0
    for batch in passes.batches(coded, "weighing values"):
        more.append(_places(batch, bound, width))
        rows += len(batch.users)
        if rows > _HELD:
            held, more, rows = _merge([held, *more]), [], 0
    keys, records = _merge([held, *more])
    there = records > 0
    return keys[there], records[there]


def _nothing() -> Held:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _merge(parts: list[Held]) -> Held:
    keys, places = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    records = np.zeros(keys.size, dtype=np.int64)
    np.add.at(records, places, np.concatenate([part[1] for part in parts]))
    return keys, records


def _weights_of_places(users: Integers, records: Integers, bound: UserValues) -> Integers:
    """Return what each place of a user gets; those of one user come after each other, in order.

    >>> _weights_of_places(np.array([0, 0, 1]), np.array([3, 1, 1]), UserValues(2)).tolist()
    [384, 128, 256]
    """
    up_to = np.cumsum(np.clip(records, 0, _MOST_RECORDS))
    first = np.ones(users.size, dtype=np.bool_)
    first[1:] = users[1:] != users[:-1]
    starts, person = np.flatnonzero(first), np.cumsum(first) - 1
    before = np.concatenate([[0], up_to])[starts]
    ends = np.append(starts[1:], users.size)[: starts.size] - 1
    mine, whole = up_to - before[person], (up_to[ends] - before)[person]
    nearest = (prorate(mine, np.maximum(whole, 1), 2 * bound.most) + 1) // 2
    weighed = np.where(whole > bound.limit, nearest, mine * bound.unit)
    added = np.diff(weighed, prepend=0)
    added[starts] = weighed[starts]
    return np.asarray(added)


def _places(batch: CodedBatch, bound: UserValues, width: int) -> Held:
    counts = batch.cells >= 0
    group = {None: None, "contexts": batch.contexts, "items": batch.cells}[bound.by]
    place = np.zeros(len(batch.users), dtype=np.int64) if group is None else group * np.int64(bound.grid.size)
    if batch.values is not None:
        place = place + bound.grid.cells_of(batch.values)
    times = np.ones(len(batch.users), dtype=np.int64) if batch.times is None else batch.times
    return _merge([((batch.users * np.int64(width) + place)[counts], times[counts])])
