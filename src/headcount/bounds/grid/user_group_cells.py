"""Counts in the cells of a public grid, bounded per group: records per user and users per group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Draws, Integers
from headcount.bounds import draws
from headcount.bounds.bound import VectorBound, check_limit
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import CollectedRows, Passes
from headcount.bounds.kernels.draws import user_keys
from headcount.errors import UsageError, param
from headcount.events.encode.id_table import Ids
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.grid import Grid
from headcount.events.log import EventLog

MAX_GROUP_RECORDS = 1 << 20
"""How many records one group may add at most, whatever is declared."""


@dataclass(frozen=True)
class GroupCells(VectorBound):
    """At most ``records`` random records of each user, and at most ``people`` random users of each group.

    They are counted in the cells of a public ``grid``; ``groups`` names the column that says who belongs together.

    A user is in one group, that of most of their records (the first one by name, of several), or in none. The
    users of a group are kept by draws that depend on each of them alone, and their records by draws that depend on
    the user and the record: see :mod:`headcount.bounds.draws`.

    Why that bounds a group
        A whole group that leaves takes away at most ``people`` · ``records`` records, and changes nothing about
        others. Of a group that is not too large, any of its users take away no more. Of one that is, each user
        who leaves may make room for another one: then it is ``records`` either way, for each of them, so that up
        to ``people`` / 2 of them are covered. One user is, always: ``people`` is 2 or more where there are
        groups, and nobody makes room for anybody where there are none.

    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 120]}})
    >>> GroupCells(grid, "household", records=2, people=6).max_records_of_group
    12
    """

    grid: Grid
    groups: str | None = None
    records: int = 1
    people: int = 1

    def __post_init__(self) -> None:
        check_limit(self.records, "max_records")
        check_limit(self.people, "max_group")
        if self.max_records_of_group > MAX_GROUP_RECORDS:
            raise UsageError(
                f"a group of {self.people:,} people with {self.records:,} records each is more than "
                f"{MAX_GROUP_RECORDS:,} records",
                remedy=f"lower {param.max_group} or {param.max_records}",
            )

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """The columns of the grid, and that of the groups."""
        return Reading(self.grid, "none", self.groups)

    @property
    def max_records_of_group(self) -> int:
        """How many records one group can add."""
        return self.records * self.people

    @property
    def shape(self) -> tuple[int]:
        """One number for each cell."""
        return (self.grid.cells,)

    def sensitivity(self, size: int) -> Sensitivity:  # noqa: ARG002
        """Return how far one group moves the counts: all of it may be in one cell."""
        return Sensitivity.of_l1(self.max_records_of_group)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:
        """Keep what the bound allows of each user and of each group, and count it per cell."""
        kept = self.kept_cells(passes, log, secret)
        return self.seal(np.bincount(kept, minlength=self.grid.cells).astype(np.int64))

    def kept_cells(self, passes: Passes, log: EventLog, secret: bytes) -> Integers:
        """Return the cells of the kept records; what is read stays in memory between the stages of a release."""
        reading = self.reading(log)
        coded, rows = passes.cached(log, reading, lambda: passes.read(log, reading, "counting"))
        users, places = rows.users.astype(np.int64), rows.cells.astype(np.int64)
        keys = user_keys(coded.users.raw, secret)
        if coded.groups is not None:
            inside = _keep_members(assign_all_groups(coded, rows), keys, self.people)[users]
            users, places = users[inside], places[inside]
        return _keep_records(users, places, keys, self.records)


def assign_all_groups(coded: EncodedLog, rows: CollectedRows) -> Integers:
    """Return the group of each user by their code, -1 for those who are in none."""
    if coded.groups is None or rows.contexts is None:
        return np.full(coded.users.size, -1, dtype=np.int64)
    users, named = rows.users.astype(np.int64), rows.contexts.astype(np.int64)
    return _assign_groups(users, named, coded.groups.table, coded.users.size)


def _keep_members(own: Integers, keys: Draws, most: int) -> NDArray[np.bool_]:
    """Say which users are kept: those of smallest draw in each group, and all who are in none."""
    kept = own < 0
    grouped_users = np.flatnonzero(~kept)
    order = grouped_users[np.lexsort((draws.member_draws(keys[grouped_users]), own[grouped_users]))]
    kept[order[_number_within(own[order]) < most]] = True
    return kept


def _assign_groups(users: Integers, named: Integers, groups: Ids, n_users: int) -> Integers:
    """Return each user's one group, -1 for none: the one of most of their records, then the first by name."""
    own = np.full(n_users, -1, dtype=np.int64)
    has_group = named >= 0
    if not has_group.any():
        return own
    pairs, records = np.unique(np.stack([users[has_group], named[has_group]]), axis=1, return_counts=True)
    order = np.lexsort((_name_order(groups)[pairs[1]], -records, pairs[0]))
    who, which = pairs[0][order], pairs[1][order]
    first = _number_within(who) == 0
    own[who[first]] = which[first]
    return own


def _name_order(groups: Ids) -> Integers:
    """Return the place of each group in the order of their names, which depends on no row."""
    raw = groups.raw
    if isinstance(raw, tuple):
        data, ends = raw
        starts = np.concatenate([[0], ends[:-1]])
        names = [bytes(data[start:end]) for start, end in zip(starts, ends, strict=True)]
        order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    else:
        order = np.argsort(raw, kind="stable")
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size)
    return places


def _keep_records(users: Integers, places: Integers, keys: Draws, most: int) -> Integers:
    """Return the cells of the records of smallest draw, ``most`` of each user."""
    order = np.lexsort((places, users))
    users, places = users[order], places[order]
    equal = _number_within(users, places)
    drawn = draws.record_draws(keys[users], places, equal)
    order = np.lexsort((places, drawn, users))
    return places[order[_number_within(users[order]) < most]]


def _number_within(*columns: Integers) -> Integers:
    """Number the rows of each run of equal values, from 0; two columns may be too large to make one number."""
    size = columns[0].size
    new = np.zeros(size, dtype=bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(new)
    return np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size)))
