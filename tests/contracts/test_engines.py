"""Every engine keeps every contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headcount.bounding import (
    UNDRAWN,
    Activity,
    Bounded,
    BoundedCounts,
    BoundedTotals,
    CountBound,
    CountTable,
    FixedRange,
    GroupSample,
    People,
    PersonTotals,
    Records,
    Rows,
    SparseCounts,
    Support,
)
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.engines.packing import pack
from headcount.engines.reference import ReferenceEngine
from headcount.events.grid import Grid
from headcount.events.log import EventLog, read_events
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging
from tests.contracts import engine_checks


class FromAStore:
    """Packs every log first, and counts from the store, which gives way to the next one."""

    def __init__(self, folder: Path) -> None:
        self.store, self.engine = folder / "store", LocalEngine(threads=2)
        self._log: EventLog | None = None
        self._packed: EventLog | None = None

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        return self.engine.measure(self.packed(log), bound, secret)

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        return self.engine.measure(self.packed(log), Activity(table, most), secret)

    def rows(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Rows:
        return self.engine.measure(self.packed(log), Records(table, most), secret)

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        return self.engine.measure(self.packed(log), People(table), secret)

    def support(self, log: EventLog, limit: int, secret: bytes) -> Support:
        return self.engine.measure(
            log, Support(limit), secret
        )  # a store has a catalogue: there is nothing to select

    def totals(self, log: EventLog, limit: int, within: FixedRange | None) -> BoundedTotals:
        return self.engine.measure(self.packed(log), PersonTotals(limit, within), UNDRAWN)

    def cells(self, log: EventLog, grid: Grid, groups: str | None, bound: GroupSample, secret: bytes) -> Bounded:
        return self.engine.cells(log, grid, groups, bound, secret)  # a store holds no columns: there are no cells

    def tagging(self, log: TagLog) -> Tagging:
        return self.engine.tagging(TagLog.of_log(self.packed(log)))

    def packed(self, log: EventLog) -> EventLog:
        """Return the log that reads the store, to count the same of it."""
        if self._packed is None or self._log is not log:
            opened = read_events(pack(log, self.store, force=True))
            self._packed = replace(opened, counting=log.counting, context_of=log.context_of)
            self._log = log
        return self._packed


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "reference": lambda _: ReferenceEngine(),
    "local": lambda _: LocalEngine(),
    "local, one thread": lambda _: LocalEngine(threads=1),
    "local, four threads, 64 bytes": lambda _: LocalEngine(threads=4, memory=64),
    "local, three threads, 2 kB": lambda _: LocalEngine(threads=3, memory=2_000),
    "local, from a packed store": FromAStore,
}


# for the reference and one engine; the others equal it anyway
HEAVY = {engine_checks.check_law_of_the_choice, engine_checks.check_secrets_matter}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("check", engine_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_contract(check: Callable[[Engine], None], name: str, tmp_path: Path) -> None:
    if check not in HEAVY or name in ("reference", "local"):
        check(ENGINES[name](tmp_path))
