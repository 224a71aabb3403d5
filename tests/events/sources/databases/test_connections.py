"""SQLite connections handed over in Python: Headcount reads stored values, and none of them makes reading fail."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import headcount as hc
from headcount.events.sources.databases import connections
from tests.events.sources.databases.test_databases import column, opened

PARSED = sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES


@pytest.fixture
def lite() -> Iterator[sqlite3.Connection]:
    """A connection that parses declared types and the names of columns, with values that it cannot parse."""
    with closing(sqlite3.connect(":memory:", detect_types=PARSED, check_same_thread=False)) as connection:
        connection.execute('CREATE TABLE visits (user, item TEXT, day DATE, at TIMESTAMP, "n [date]" REAL)')
        for damaged in (b"\xff", b"tea", b"\xc3"):
            values = "'ann', CAST(? AS TEXT), 'soon', '2026-03-06 10:00:00', 2"
            connection.execute(f"INSERT INTO visits VALUES ({values})", (damaged,))
        connection.execute("INSERT INTO visits VALUES ('bob', 'tea', '2026-03-06', 'later', -0.0)")
        connection.execute("INSERT INTO visits VALUES ('bob', CAST('tea' AS BLOB), NULL, NULL, '1.50')")
        yield connection


@pytest.mark.parametrize("target", [{"table": "visits"}, {"query": "SELECT * FROM visits -- all"}], ids=str)
def test_sqlite_connections_read_what_is_stored(
    lite: sqlite3.Connection, target: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_ROWS", 2)
    source = opened(lite, **target)
    assert source.names == ["user", "item", "day", "at", "n"]
    assert column(source, "item") == [None, "tea", None, "tea", None]
    assert column(source, "day") == ["soon", "soon", "soon", "2026-03-06", None]
    assert column(source, "at") == [*["2026-03-06 10:00:00"] * 3, "later", None]
    assert column(source, "n") == ["2.0", "2.0", "2.0", "0.0", "1.5"]
    assert lite.text_factory is str
    log = hc.read_events(lite, user="user", item="item", items="tea,rye", **target)  # type: ignore[arg-type]
    assert hc.check(log).records == 2


def test_the_factories_of_a_sqlite_connection_are_kept(lite: sqlite3.Connection) -> None:
    def latin(data: bytes) -> str:
        if data == b"tea":
            raise KeyError
        return data.decode("latin-1")

    def named(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[int | str, Any]:
        return dict(enumerate(row)) | {str(row): 0}

    lite.text_factory = latin
    lite.row_factory = named
    assert column(opened(lite, table="visits"), "item") == ["ÿ", None, "Ã", None, None]
    assert lite.text_factory is latin
