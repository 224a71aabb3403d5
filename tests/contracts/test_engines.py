"""Every engine keeps every contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from headcount.bounds import Bound, Measured_co
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.keys.distinct_items_sign import DistinctItemsSign
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.engines.local.pack import pack
from headcount.events.log import EventLog, read_events
from tests.contracts.support import engine_checks
from tests.reference.engine import ReferenceEngine
from tests.support import spark_session

pytestmark = pytest.mark.long


class FromAStore:
    """Packs every log first, and counts from the store, which gives way to the next one."""

    def __init__(self, folder: Path) -> None:
        self.store, self.engine = folder / "store", LocalEngine(threads=2)
        self._log: EventLog | None = None
        self._packed: EventLog | None = None

    def can(self, kind: type[Bound[Any]]) -> bool:
        return self.engine.can(kind)

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        # it has a catalogue, and holds no other columns
        in_store = not isinstance(bound, KeySupport | KeyWeights | DistinctItemsSign | GroupCells)
        return self.engine.measure(self.packed(log) if in_store else log, bound, secret)

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


# for the reference and one engine: the others equal it anyway
LAWS = {engine_checks.check_law_of_the_choice, engine_checks.check_secrets_matter}
HEAVY = {engine_checks.check_sensitivity, engine_checks.check_keeps_all_it_may}
ENOUGH = ("reference", "local")
CASES = [
    pytest.param(check, name, marks=pytest.mark.slow if check in HEAVY and name not in ENOUGH else ())
    for check in engine_checks.CHECKS
    for name in ENGINES
    if check not in LAWS or name in ENOUGH
]


ELSEWHERE = {*LAWS, engine_checks.check_layout_has_no_effect}  # layouts are in the engine's own tests
ON_SPARK = [check for check in engine_checks.CHECKS if check not in ELSEWHERE]


@pytest.mark.parametrize(("check", "name"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_contract(check: Callable[[Engine], None], name: str, tmp_path: Path) -> None:
    check(ENGINES[name](tmp_path))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("check", ON_SPARK, ids=lambda check: str(check.__name__))
def test_contract_on_spark(check: Callable[[Engine], None]) -> None:
    """The same, on a few examples each: a measure takes Spark a second."""
    before = settings.get_current_profile_name()
    settings.register_profile("spark", settings.get_profile(before), max_examples=3, phases=[Phase.generate])
    settings.load_profile("spark")
    try:
        check(spark_session.engine())
    finally:
        settings.load_profile(before)
