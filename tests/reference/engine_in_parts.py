"""The reference engine with one method per measurement, which a test can record or replace."""

from __future__ import annotations

from typing import Any

from headcount.bounds import (
    ActivityHistogram,
    Bound,
    Bounded,
    BoundedCounts,
    ClassProfile,
    CountBound,
    CountTable,
    Measured_co,
)
from headcount.bounds.counts.record_cap import CappedRecords, RecordCap
from headcount.bounds.counts.top_item_counts import BoundedTopItemCounts, TopItemCounts
from headcount.bounds.counts.users_per_column import SparseCounts, UsersPerColumn
from headcount.events.log import EventLog
from tests.reference.engine import ReferenceEngine


class InParts(ReferenceEngine):
    """Equal to the reference engine, until a subclass overrides a part."""

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Hand the bound to the part that measures it."""
        result: Any
        if isinstance(bound, CountBound):
            result = self.count(log, bound, secret)
        elif isinstance(bound, ActivityHistogram) and bound.norm == "l1" and not bound.ends:
            result = self.activity(log, bound.table, bound.most, secret)
        elif isinstance(bound, RecordCap):
            result = self.rows(log, bound.table, bound.most, secret)
        elif isinstance(bound, UsersPerColumn):
            result = self.sparse(log, bound.table, secret)
        elif isinstance(bound, ClassProfile):
            result = self.shares(log, bound, secret)
        elif isinstance(bound, TopItemCounts):
            result = self.look(log, bound, secret)
        else:
            result = super().measure(log, bound, secret)
        measured: Measured_co = result
        return measured

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        """Count under a bound."""
        return super().measure(log, bound, secret)

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        """Count the users by the number of their records."""
        return super().measure(log, ActivityHistogram(table, most), secret)

    def rows(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> CappedRecords:
        """Collect the records."""
        return super().measure(log, RecordCap(table, most), secret)

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        """Count the people behind each column."""
        return super().measure(log, UsersPerColumn(table), secret)

    def shares(self, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
        """Spread people over classes of columns."""
        return super().measure(log, bound, secret)

    def look(self, log: EventLog, bound: TopItemCounts, secret: bytes) -> BoundedTopItemCounts:
        """Spread people over classes of items, and look closer at some of them."""
        return super().measure(log, bound, secret)
