"""How often a log is read: once, where the stages of a release need the same of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

import headcount as hc
from headcount.events.sources.source import TableSource

TABLE = pa.table(
    {
        "user": [f"p{row % 60}" for row in range(300)],
        "item": [str(row % 3) for row in range(300)],
        "stars": [float(row % 5 + 1) for row in range(300)],
        "age": [row % 90 for row in range(300)],
    }
)
QUESTION = "SELECT COUNT(*) FROM people WHERE age < 18"
BINS = {"age": {"edges": [0, 18, 65, 120]}}


def events(**more: Any) -> hc.EventLog:
    return hc.read_events(TABLE, user="user", item="item", items="0,1,2", **more)


def tags() -> hc.EventLog:
    lists: dict[str, Any] = {"resources": "0,1,2", "vocabulary": "0,1,2"}
    return hc.read_tags(TABLE, user="user", resource="item", tag="item", **lists)


RELEASES: dict[str, Callable[[], Any]] = {
    "adaptive": lambda: hc.release(events(), epsilon=1),
    "hpa": lambda: hc.release(events(), epsilon=1, method="hpa", limit=3),
    "dpsense-s": lambda: hc.release(events(), epsilon=1, method="dpsense-s"),
    "rank": lambda: hc.rank(events(), k=2, epsilon=1),
    "query": lambda: hc.query(hc.read_people(TABLE, user="user"), [QUESTION], bins=BINS, epsilon=1),
    "tags": lambda: hc.release_tags(tags(), epsilon=1),
    "fit": lambda: hc.fit_neighbours(
        events(value="stars", value_range="1,5"), epsilon=4, delta="1e-6", relations=True
    ),
}


@pytest.fixture
def reads() -> Iterator[list[Any]]:
    reads_done: list[Any] = []
    real = TableSource.batches

    def batches(source: TableSource, columns: Any) -> Any:
        reads_done.append(columns)
        return real(source, columns)

    with mock.patch.object(TableSource, "batches", batches):
        yield reads_done


@pytest.mark.parametrize("name", RELEASES)
def test_a_log_is_read_once(name: str, reads: list[Any]) -> None:
    RELEASES[name]()
    assert len(reads) == 1
