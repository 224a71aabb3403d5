"""The reference engine with some of its measures as methods, so that a test can watch one, or break it."""

from __future__ import annotations

from typing import Any

from headcount.bounds import (
    Activity,
    Bound,
    Bounded,
    BoundedCounts,
    BoundedLook,
    CountBound,
    CountTable,
    Look,
    Measured_co,
    People,
    Records,
    Rows,
    Shares,
    SparseCounts,
)
from headcount.events.log import EventLog
from tests.reference.engine import ReferenceEngine


class InParts(ReferenceEngine):
    """Equal to the reference engine, until a subclass overrides a part."""

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Hand the bound to the part that measures it."""
        found: Any
        if isinstance(bound, CountBound):
            found = self.count(log, bound, secret)
        elif isinstance(bound, Activity) and bound.norm == "l1" and not bound.ends:
            found = self.activity(log, bound.table, bound.most, secret)
        elif isinstance(bound, Records):
            found = self.rows(log, bound.table, bound.most, secret)
        elif isinstance(bound, People):
            found = self.sparse(log, bound.table, secret)
        elif isinstance(bound, Shares):
            found = self.shares(log, bound, secret)
        elif isinstance(bound, Look):
            found = self.look(log, bound, secret)
        else:
            found = super().measure(log, bound, secret)
        measured: Measured_co = found
        return measured

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        """Count under a bound."""
        return super().measure(log, bound, secret)

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        """Count the users by the number of their records."""
        return super().measure(log, Activity(table, most), secret)

    def rows(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Rows:
        """Collect the records."""
        return super().measure(log, Records(table, most), secret)

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        """Count the people behind each column."""
        return super().measure(log, People(table), secret)

    def shares(self, log: EventLog, bound: Shares, secret: bytes) -> Bounded:
        """Spread people over classes of columns."""
        return super().measure(log, bound, secret)

    def look(self, log: EventLog, bound: Look, secret: bytes) -> BoundedLook:
        """Spread people over classes of items, and look closer at some of them."""
        return super().measure(log, bound, secret)
