"""Local over each source equals local over the same rows from a file: what is read, and what is measured of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headcount.engines.local.engine import LocalEngine
from headcount.events.encode.text_columns import sound_batch
from headcount.events.log import EventLog
from headcount.events.sources.databases.table_or_query import TableOrQuery
from headcount.events.sources.source import open_source
from tests.contracts.rows.raw_databases import WRITERS
from tests.contracts.rows.raw_files import COLUMNS, FORMATS, Row, table_of, written
from tests.contracts.support.measurements import MEASUREMENTS, opened
from tests.contracts.test_additivity import random_hostile_rows

FILE = FORMATS["parquet text"]
WAYS = {
    "table": {"table": "events"},
    "view": {"table": "seen"},
    "query": {"query": "SELECT * FROM events -- all;"},
}


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """What people write who write anything, but no NUL, which PostgreSQL does not hold."""
    own, other = random_hostile_rows(7, FORMATS["postgresql"], people=30)
    return own + other


@pytest.fixture(scope="module")
def address(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return where the rows lie in a database of a kind."""
    addresses: dict[str, str] = {}

    def find(kind: str) -> str:
        if kind not in addresses:
            addresses[kind] = WRITERS[kind](tmp_path_factory.mktemp("rows"), table_of(FILE, rows))
        return addresses[kind]

    return find


def _read(source: Any) -> list[tuple[object, ...]]:
    """Return all rows of a pass, in an order of their own."""
    rows_read = [
        row
        for batch in map(sound_batch, source.batches(COLUMNS))
        for row in zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True)
    ]
    return sorted(rows_read, key=repr)


@pytest.mark.parametrize("source_options", WAYS)
@pytest.mark.parametrize("kind", WRITERS)
def test_every_pass_gives_the_rows_of_the_file(
    kind: str, source_options: str, address: Callable[[str], str], rows: list[Row], tmp_path: Path
) -> None:
    expected = _read(open_source(written(FILE, tmp_path, rows)))
    source = open_source(address(kind), target=TableOrQuery(**WAYS[source_options]))
    assert source.names == list(COLUMNS)
    assert _read(source) == expected
    assert _read(source) == expected


def _log(measured: str, events: Any, words: dict[str, Any]) -> EventLog:
    measurement = MEASUREMENTS[measured]
    return opened(measurement.kind, events, FILE, {**measurement.options, **words})


# sources hand over the same rows, so that a few measurements will do; the slow ones are all of them
FEW = ("sample", "totals", "support", "cells, groups", "tags, l1")


def _check(kind: str, measured: str, source_options: str, where: str, file: Any) -> None:
    engine = LocalEngine(threads=1, memory=2_000)  # several passes
    measurement = MEASUREMENTS[measured]
    expected = measurement.on(engine, _log(measured, file, {}))
    assert expected
    assert measurement.on(engine, _log(measured, where, WAYS[source_options])) == expected


@pytest.mark.parametrize("measured", FEW)
@pytest.mark.parametrize("kind", WRITERS)
def test_the_same_is_measured(
    kind: str, measured: str, address: Callable[[str], str], rows: list[Row], tmp_path: Path
) -> None:
    _check(kind, measured, "table", address(kind), written(FILE, tmp_path, rows))


@pytest.mark.slow
@pytest.mark.parametrize("measured", MEASUREMENTS)
@pytest.mark.parametrize("kind", WRITERS)
def test_all_that_is_measured_is_the_same(
    kind: str, measured: str, address: Callable[[str], str], rows: list[Row], tmp_path: Path
) -> None:
    file = written(FILE, tmp_path, rows)
    for source_options in WAYS:
        _check(kind, measured, source_options, address(kind), file)
