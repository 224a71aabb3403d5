"""Additivity check: measurements of two disjoint sets of users sum to the measurement of both."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount.api.functions import pack
from headcount.engines.engine import Engine
from headcount.errors import DataError, UsageError
from headcount.events.log import EventLog, read_events
from headcount.events.tag_log import TagLog
from tests.contracts.rows.raw_files import Format, Row, small_batches, written
from tests.contracts.support.measurements import Measurement, Sums, opened, plus
from tests.reference.engine import ReferenceEngine

REFUSED: Sums = {"refused": 1}
"""What comes of a column of objects, if such columns are refused."""

Through = Callable[[EventLog], EventLog]


def unchanged(log: EventLog) -> EventLog:
    """Read a log as it is."""
    return log


@dataclass
class Bench:
    """Measures raw rows in a folder: with an engine, by a measurement, all at once or one by one.

    ``through`` may put something between a log and its measuring: a broken reader, to see that the law finds it.
    """

    folder: Path
    format: Format
    measurement: Measurement
    options: dict[str, Any] = field(default_factory=dict)
    one_by_one: bool = False
    engine: Engine = field(default_factory=ReferenceEngine)
    through: Through = unchanged
    _numbers: Iterable[int] = field(default_factory=itertools.count)

    def measure(self, rows: Sequence[Row]) -> Sums:
        """Write rows, read them and measure."""
        place = self.folder / str(next(iter(self._numbers)))
        with small_batches() if self.one_by_one else nullcontext():
            events = written(self.format, place, rows, one_by_one=self.one_by_one)
            options = {**self.measurement.options, **self.options}
            try:
                log = opened(self.measurement.kind, events, self.format, options)
            except (DataError, UsageError):
                if self.format.shape == "python":
                    return REFUSED
                raise
            if self.format.packs:
                log = self._packed(log, place / "store")
            return self.measurement.on(self.engine, self.through(log))

    def _packed(self, log: EventLog, store: Path) -> EventLog:
        """Return what a store of the log is read as, to measure the same of it."""
        pack(log, store)
        packed = read_events(store, count=log.counting, context_of=log.context_of)
        return TagLog.of_log(packed) if isinstance(log, TagLog) else packed


def check_sum(together: Sums, own: Sums, other: Sums, order: str) -> None:
    """Refuse a sum that is not what its parts are."""
    if REFUSED in (together, own, other):  # by its type alone: whatever anybody wrote
        assert together == own == other, f"refused for what somebody wrote ({order})"
        return
    expected = plus(own, other)
    odd = {cell for cell in expected | together if expected.get(cell, 0) != together.get(cell, 0)}
    shown = {cell: (together.get(cell, 0), expected.get(cell, 0)) for cell in sorted(odd, key=str)[:5]}
    assert not odd, f"with {order}, not the sum of both groups: {{cell: (together, sum)}} = {shown}"
