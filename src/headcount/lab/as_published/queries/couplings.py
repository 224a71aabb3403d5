"""Rules that couple records (thesis, section 5.3.1): by attribute, by time interval, by Pearson's coefficient.

All of them read the private table, which is part of why CIM is not private. What the curator knows beforehand is a
file of degrees: :mod:`headcount.lab.as_published.queries.degree_file`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import pyarrow as pa

from headcount.errors import UsageError
from headcount.events.encode.column_types import check_column_type
from headcount.events.encode.text_columns import sound_batch, value_type
from headcount.events.log import EventLog
from headcount.events.sources.source import Source
from headcount.events.times import TimeFormat

INTERVAL = "interval of time"
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WAYS = "attribute:COLUMN, time:COLUMN/90m or pearson"


@dataclass(frozen=True)
class Coupling:
    """A way of section 5.3.1, as ``coupling`` names it: ``attribute:household``, ``time:seen/90m`` or ``pearson``.

    Whole numbers are seconds since 1970. Pearson's coefficient is of the bins that records are in.

    >>> Coupling.of("time:seen/90m")
    Coupling(rule='time', column='seen', seconds=5400)
    """

    rule: Literal["attribute", "time", "pearson"]
    column: str | None = None
    seconds: int = 0

    @classmethod
    def of(cls, text: str) -> Self:
        """Read what an option says."""
        if text == "pearson":
            return cls("pearson")
        if match := re.fullmatch(r"attribute:(.+)", text):
            return cls("attribute", match[1])
        if match := re.fullmatch(r"time:(.+)/([1-9][0-9]{0,8})([smhd])", text):
            return cls("time", match[1], int(match[2]) * _UNITS[match[3]])
        raise UsageError(f"coupling must read {_WAYS}", given=text, remedy="such as coupling=attribute:household")

    def applied(self, log: EventLog) -> tuple[EventLog, str | None]:
        """Return the log to be read, and the column whose equal values couple records, if one does."""
        if self.column is None:
            return log, None
        kind = log.type_of(self.column)
        if self.rule == "attribute":
            check_column_type(kind, "group", self.column)
            return log, self.column
        clock = TimeFormat("s" if pa.types.is_integer(value_type(kind)) else None)
        clock.check(kind, self.column)
        timed = WithIntervals(log.source, self.column, self.seconds, clock)
        return replace(log, source=timed), INTERVAL


@dataclass(frozen=True)
class WithIntervals:
    """A source with one more column: the number of the interval of so many ``seconds`` that each time is in."""

    source: Source
    column: str
    seconds: int
    clock: TimeFormat

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.source.name

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [*self.source.names, INTERVAL]

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known beforehand."""
        return self.source.rows

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the type of a column."""
        return pa.int64() if column == INTERVAL else self.source.type_of(column)

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Say nothing of intervals."""
        return None if column == INTERVAL else self.source.whole_range(column)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns; a time that cannot be read is in no interval."""
        own = tuple(dict.fromkeys([*(column for column in columns if column != INTERVAL), self.column]))
        for raw in self.source.batches(own):
            batch = sound_batch(raw)
            micros, there = self.clock.instants(batch.column(self.column))
            interval = pa.array(micros // (1_000_000 * self.seconds), pa.int64(), mask=~there)
            yield batch.append_column(INTERVAL, interval).select(list(columns))
