"""Raw rows in databases: a table and a view in each supported kind."""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.events.encode.text_columns import as_bytes, is_text
from tests.support import servers

_NUMBERS = itertools.count()
_DECLARED = {pa.int64(): "bigint", pa.float64(): "double precision", pa.timestamp("us"): "timestamp"}


def postgres_address(schema: str) -> str:
    """Return the address of the server, with a schema to look into."""
    return f"{servers.postgres().get_uri()}&options=-csearch_path%3D{schema}"


def in_duckdb(folder: Path, rows: pa.Table) -> str:
    """Write rows into a DuckDB file."""
    import duckdb

    path = folder / "events.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        database.register("rows", rows)
        database.execute("CREATE TABLE events AS SELECT * FROM rows")
        database.execute("CREATE VIEW seen AS SELECT * FROM events")
    return f"duckdb://{path}"


def in_sqlite(folder: Path, rows: pa.Table) -> str:
    """Write rows into an SQLite file; text is laid down as bytes, be they UTF-8 or not."""
    path = folder / "events.sqlite"
    path.unlink(missing_ok=True)
    columns = [_plain(rows[name]) for name in rows.column_names]
    with closing(sqlite3.connect(path)) as database:
        kinds = {field.name: "text" if is_text(field.type) else _DECLARED[field.type] for field in rows.schema}
        database.execute(f"CREATE TABLE events ({_declared(kinds)})")
        holes = ", ".join("CAST(? AS TEXT)" if kind == "text" else "?" for kind in kinds.values())
        database.executemany(f"INSERT INTO events VALUES ({holes})", zip(*columns, strict=True))
        database.execute("CREATE VIEW seen AS SELECT * FROM events")
        database.commit()
    return f"sqlite:///{path}"


def in_postgres(folder: Path, rows: pa.Table) -> str:
    """Write rows into a schema of its own on the server."""
    import psycopg

    schema = f"rows_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(servers.postgres().get_uri(), autocommit=True) as server:
        kinds = {field.name: "text" if is_text(field.type) else _DECLARED[field.type] for field in rows.schema}
        server.execute(f"CREATE SCHEMA {schema}")
        server.execute(f"SET search_path = {schema}")
        server.execute(f"CREATE TABLE events ({_declared(kinds)})")
        with server.cursor().copy("COPY events FROM STDIN") as copy:
            for row in zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True):
                copy.write_row(row)
        server.execute("CREATE VIEW seen AS SELECT * FROM events")
    return postgres_address(schema)


def _declared(kinds: Mapping[str, str]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())


def _plain(column: pa.ChunkedArray) -> list[Any]:
    values = column.combine_chunks()
    plain: list[Any] = (as_bytes(values) if is_text(values.type) else values).to_pylist()
    return plain


WRITERS: Mapping[str, Callable[[Path, pa.Table], str]] = {
    "duckdb": in_duckdb,
    "sqlite": in_sqlite,
    "postgresql": in_postgres,
}
