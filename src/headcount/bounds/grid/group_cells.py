"""Counts in the cells of a public grid, bounded per group: records per user and users per group."""

from __future__ import annotations

from dataclasses import dataclass

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, check_limit
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.errors import UsageError, param
from headcount.events.encode.passes import Reading
from headcount.events.grid import Grid
from headcount.events.log import EventLog

MAX_GROUP_RECORDS = 1 << 20
"""How many records one group may add at most, whatever is declared."""


@dataclass(frozen=True)
class GroupCells(Bound[Bounded]):
    """At most ``records`` random records of each person, and at most ``people`` random people of each group.

    They are counted in the cells of a public ``grid``; ``groups`` names the column that says who belongs together.

    A person is in one group, that of most of their records (the first one by name, of several), or in none. The
    people of a group are kept by draws that hang on each of them alone, and their records by draws that hang on
    the person and the record: see :mod:`headcount.bounds.draws`.

    Why that bounds a group
        A whole group that leaves takes away at most ``people`` · ``records`` records, and changes nothing about
        others. Of a group that is not too large, any of its people take away no more. Of one that is, each person
        who leaves may make room for another one: then it is ``records`` either way, for each of them, so that up
        to ``people`` / 2 of them are covered. One person is, always: ``people`` is 2 or more where there are
        groups, and nobody makes room for anybody where there are none.

    >>> grid = Grid.of({"age": {"edges": [0, 18, 120]}})
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


def seal_group_cells(bound: GroupCells, counts: Integers) -> Bounded:
    """Turn an engine's counts per cell under a bound into bounded values that noise accepts.

    All of a group may be in one cell.
    """
    max_group_records = bound.max_records_of_group
    return Bounded(
        counts, Sensitivity(l1=max_group_records, l2_squared=max_group_records**2, linf=max_group_records), SEAL
    )
