"""Exact counts of a log by encoding and the reference engine, without a binding contribution bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headcount.bounds import SampleRecords
from headcount.events.log import EventLog, read_events
from tests.reference.engine import ReferenceEngine

Counts = dict[str, int]


def exact_items(log: EventLog) -> Counts:
    """Return the exact count of every item that has one."""
    counted = ReferenceEngine().measure(log, SampleRecords(10**6), bytes(16)).items.sensitive_values
    pairs = zip(log.catalogue.ids, counted.tolist(), strict=True)
    return {str(item): count for item, count in pairs if count}


def exact_edges(log: EventLog) -> dict[tuple[str, str | None], int]:
    """Return the exact count of every item and context that has one; None is the unknown context."""
    counted = ReferenceEngine().measure(log, SampleRecords(10**6), bytes(16)).edges.sensitive_values
    assert log.context is not None
    labels = [*log.context.labels, None]
    return {
        (str(item), label): int(counted[row, column])
        for row, item in enumerate(log.catalogue.ids)
        for column, label in enumerate(labels)
        if counted[row, column]
    }


@pytest.fixture
def items() -> Callable[..., Counts]:
    """Read events and count items; columns are ``user`` and ``item`` unless said otherwise."""

    def count(events: Any, catalogue: Any = "rye,tea", **options: Any) -> Counts:
        options = {"user": "user", "item": "item"} | options
        return exact_items(read_events(events, items=catalogue, **options))

    return count


@pytest.fixture
def edges() -> Callable[..., dict[tuple[str, str | None], int]]:
    """Read events and count items by context."""

    def count(events: Any, catalogue: Any = "rye,tea", **options: Any) -> dict[tuple[str, str | None], int]:
        options = {"user": "user", "item": "item"} | options
        return exact_edges(read_events(events, items=catalogue, **options))

    return count
