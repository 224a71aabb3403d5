"""What an engine is: an interpreter of bounds over logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

from headcount.bounding import (
    Bound,
    Bounded,
    BoundedCounts,
    BoundedTotals,
    FixedRange,
    GroupSample,
    OffsetBound,
    PairBound,
    Rows,
    SparseCounts,
    Support,
)
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, the rows done and the rows in all (None: unknown)."""


Table = Literal["items", "edges"]
"""Which columns a user's records fall into: items, or items in contexts."""


class Engine(Protocol):
    """Counts a log under a bound; draws hang on the secret as :mod:`headcount.engines.draws` defines."""

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Keep what the bound allows of each user's records and count it per item, and per item and context."""

    def activity(self, log: EventLog, table: Table, most: int, secret: bytes) -> Bounded:
        """Count the users who have 1, 2, … records in a table, the last place for ``most`` or more.

        Where users are counted, a user's records are the different items, or pairs of item and context.
        """

    def rows(self, log: EventLog, table: Table, most: int, secret: bytes) -> Rows:
        """Collect the columns of all users' records, at most ``most`` random ones of each, by their number."""

    def sparse(self, log: EventLog, table: Table, secret: bytes) -> SparseCounts:
        """Count the people behind each column of a table, each person once a column, whatever the log counts.

        Only columns that somebody is in are held.
        """

    def support(self, log: EventLog, limit: int, secret: bytes) -> Support:
        """Count the people behind each item of a log without a catalogue, ``limit`` random items of each alone."""

    def totals(self, log: EventLog, limit: int, within: FixedRange | None) -> BoundedTotals:
        """Count people and their records, and add up their values, with or without a catalogue."""

    def cells(self, log: EventLog, grid: Grid, groups: str | None, bound: GroupSample, secret: bytes) -> Bounded:
        """Keep what the bound allows of each person and of each group, and count it per cell of a public grid."""

    def tagging(self, log: TagLog) -> Tagging:
        """Collect who gave which tag to which resource, each assignment once: for bounds alone."""


@runtime_checkable
class RatingEngine(Protocol):
    """Adds up what people rated; nothing is drawn."""

    def offsets(self, log: EventLog, bound: OffsetBound) -> Bounded:
        """Add up how far ratings lie from their users' means, and how many there are, for each item."""

    def pairs(self, log: EventLog, bound: PairBound) -> Bounded:
        """Add up products of what users gave two items, or how many have both, for each pair of items."""


def columns_of(log: EventLog, table: Table, most: int) -> int:
    """Return how many columns a table has; where users are counted, nobody has more records than that."""
    columns = len(log.catalogue.ids) if table == "items" else log.cells
    if log.counting == "users" and most < columns:
        raise ValueError(f"different {table} are not cut down: most must be at least {columns}, not {most}")
    return columns


def silent(stage: str, done: int, total: int | None) -> None:
    """Show no progress."""
