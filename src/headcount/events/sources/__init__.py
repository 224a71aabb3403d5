"""Database and web sources: one module per back end, and the dispatch by URL scheme.

No other package imports ADBC or DuckDB.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from headcount.errors import UsageError
from headcount.events.sources import databases
from headcount.events.sources.databases.table_or_query import NOTHING, TableOrQuery

__all__ = ["NOTHING", "TableOrQuery", "is_address", "open_database"]

_HOMES = {
    "postgresql": "postgres:Postgres", "postgres": "postgres:Postgres", "duckdb": "duckdb_files:Duck",
    "sqlite": "sqlite:Sqlite",
}  # fmt: skip


def is_address(path: str) -> bool:
    """Tell whether this is the address of a database.

    >>> [is_address(each) for each in ("postgresql://h/db", "adbc+flightsql:grpc://h", "s3://b/a.csv")]
    [True, True, False]
    """
    return path.startswith("adbc+") or ("://" in path and path.partition("://")[0] in _HOMES)


def open_database(events: Any, target: TableOrQuery = NOTHING) -> Any:
    """Open a database, or what a program has of one; None if it is something else."""
    several = isinstance(events, Sequence) and not isinstance(events, str | bytes)
    given = list(events) if several else [events]
    addresses = [
        event_source for event_source in given if isinstance(event_source, str) and is_address(event_source)
    ]
    if addresses:
        if len(given) > 1:
            raise UsageError("a database cannot be mixed with other sources", remedy="give it alone")
        return _open_address(addresses[0], target)
    return None if several or isinstance(events, str | os.PathLike) else _open_object(events, target)


def _open_address(address: str, target: TableOrQuery) -> Any:
    from headcount.events.sources.databases.database import DatabaseSource
    from headcount.events.sources.naming import redact

    target.check(redact(address))
    home = "connections:AnyDriver" if address.startswith("adbc+") else _HOMES[address.partition("://")[0]]
    module, _, name = home.partition(":")
    return DatabaseSource.of(
        getattr(importlib.import_module(f"{databases.__name__}.{module}"), name)(address), target
    )


def _open_object(given: Any, target: TableOrQuery) -> Any:
    """Take a connection, a relation of DuckDB's or an expression of Ibis', told by what they can do."""
    kind = type(given)
    is_connection = hasattr(kind, "cursor") and hasattr(kind, "close")
    is_expression = hasattr(kind, "to_pyarrow_batches") or hasattr(kind, "to_arrow_reader")
    if not (is_connection or is_expression):
        return None
    from headcount.events.sources.databases import connections
    from headcount.events.sources.databases.database import DatabaseSource

    if not is_connection:
        target.refuse(f"the {kind.__name__}")
        return DatabaseSource.of(connections.Expression(given), target)
    target.check(f"the {kind.__name__}")
    if isinstance(given, sqlite3.Connection) and (file := _file_of(given)):
        return _open_address(f"sqlite:///{file}", target)
    has_arrow = hasattr(kind, "adbc_get_info") or hasattr(kind, "to_arrow_reader")
    return DatabaseSource.of(
        (connections.ArrowConnection if has_arrow else connections.PlainConnection)(given), target
    )


def _file_of(connection: sqlite3.Connection) -> str:
    """Return the file of an SQLite connection, which the thread that reads ahead may not use itself."""
    return str(
        next(database[2] for database in connection.execute("PRAGMA database_list") if database[1] == "main") or ""
    )
