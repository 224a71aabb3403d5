"""Bounds that look at some items alone: as if the log held nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import ActivityHistogram, Bound, CountTable, ItemSubset, WeightToThreshold
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from tests.contracts.support.sensitivity import check_reach
from tests.reference.engine import ReferenceEngine

ENGINES: tuple[Engine, ...] = (ReferenceEngine(), LocalEngine(threads=1))
ITEMS, CONTEXTS = ("i0", "i1", "i2", "i3"), ("AM", "PM")
rows = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "eve"]), st.sampled_from(ITEMS), st.sampled_from([*CONTEXTS, "night"])
    ),
    max_size=20,
)
places = st.lists(st.integers(0, 3), unique=True)


def log_of(events: list[tuple[str, str, str]], counting: str, context_of: str = "record") -> EventLog:
    log = EventLog.of(events, items=ITEMS, contexts=CONTEXTS)
    return replace(log, counting=counting, context_of=context_of)  # type: ignore[arg-type]


def values(engine: Engine, log: EventLog, bound: Bound[Any]) -> list[object]:
    measured = engine.measure(log, bound, bytes(16))
    tables = [measured.items, measured.edges] if isinstance(bound, WeightToThreshold) else [measured]
    return [(counts.sensitive_values.tolist(), counts.sensitivity) for counts in tables]


@pytest.mark.parametrize("engine", ENGINES, ids=["reference", "local"])
@pytest.mark.parametrize("counting", ["records", "users"])
def test_it_is_as_if_other_items_were_not_in_the_log(engine: Engine, counting: str) -> None:
    @given(rows, places, st.integers(1, 3), st.sampled_from(["items", "edges"]))
    def same(events: list[tuple[str, str, str]], chosen: list[int], limit: int, table: CountTable) -> None:
        among = ItemSubset(np.array(chosen, dtype=np.int64))
        kept = [event for event in events if ITEMS.index(event[1]) in chosen]
        log, rest = log_of(events, counting), log_of(kept, counting)
        for narrowed, other in (
            (WeightToThreshold(limit, apart=True, among=among), WeightToThreshold(limit, apart=True)),
            (ActivityHistogram(table, 5, among=among), ActivityHistogram(table, 5)),
        ):
            assert values(engine, log, narrowed) == values(engine, rest, other)

    same()


@pytest.mark.parametrize("engine", ENGINES, ids=["reference", "local"])
def test_the_context_of_a_user_is_that_of_all_their_records(engine: Engine) -> None:
    """Looking at fewer items moves nobody into another context, in which they might be counted a second time."""
    events = [("ann", "i0", "AM"), ("ann", "i1", "PM"), ("ann", "i2", "PM")]
    bound = WeightToThreshold(1, among=ItemSubset(np.array([0])))
    measured = engine.measure(log_of(events, "users", "user"), bound, bytes(16))
    assert not measured.edges.sensitive_values.any()


@pytest.mark.parametrize("table", ["items", "edges"])
def test_one_user_stays_within_the_sensitivity(table: CountTable) -> None:
    check_reach(ActivityHistogram(table, 3, among=ItemSubset(np.array([0]))))


@pytest.mark.parametrize("wrong", [[4], [-1], [1, 1]])
def test_places_that_are_none_are_refused(wrong: list[int]) -> None:
    for engine in ENGINES[1:]:
        with pytest.raises(ValueError, match=r"places|each once"):
            engine.measure(log_of([], "users"), WeightToThreshold(1, among=ItemSubset(np.array(wrong))), bytes(16))
