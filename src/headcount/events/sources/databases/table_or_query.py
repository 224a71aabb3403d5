"""The table or query to read from a database (``--table``, ``--query``), and the back end that opens it.

No other room imports ADBC or DuckDB.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headcount.errors import UsageError, param
from headcount.events.sources import databases

_REMEDY = f"give {param.table('NAME')} or {param.query} 'SELECT …'"


@dataclass(frozen=True)
class TableOrQuery:
    """A table by its name, which may be qualified, or a query.

    >>> TableOrQuery(table='shop."our visits"').parts
    ('shop', 'our visits')
    """

    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if self.table is not None and self.query is not None:
            raise UsageError(f"{param.table} and {param.query} are given both", remedy=_REMEDY)
        for flag, given in ((param.table, self.table), (param.query, self.query)):
            if given is not None and not given.strip(" \t\r\n;"):
                raise UsageError(f"{flag} is empty", remedy=_REMEDY)

    def __bool__(self) -> bool:
        return self.table is not None or self.query is not None

    def check(self, where: str) -> None:
        """Refuse a database of which neither a table nor a query is named."""
        if not self:
            raise UsageError(f"{where} is a database", remedy=_REMEDY)

    def refuse(self, where: str) -> None:
        """Refuse a table or a query of any other source than a database."""
        if self:
            flag = param.query if self.table is None else param.table
            raise UsageError(f"{flag} is for databases, and {where} is none", remedy="leave it out")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the table's name, as they are written in the database; dots in quotes part nothing."""
        quoted_parts = re.findall(r'"(?:[^"]|"")*"|[^."]+', self.table or "")
        if ".".join(quoted_parts) != self.table or len(quoted_parts) > 3:
            raise UsageError(
                f"{param.table} must be a name, or several with dots",
                given=self.table,
                remedy="such as shop.visits",
            )
        return tuple(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in quoted_parts)

    @property
    def quoted(self) -> str:
        """The table's name as SQL has it."""
        return ".".join(map(quoted, self.parts))

    @property
    def words(self) -> str:
        """The name in messages."""
        return "a query" if self.table is None else self.table

    @property
    def subquery(self) -> str:
        """The query, to be selected from; a comment in its last line ends with that line."""
        return f"({(self.query or '').strip().rstrip(';')}\n) AS headcount_query"

    @property
    def digest(self) -> str | None:
        """A digest of the query, which does not show its text."""
        if self.query is None:
            return None
        return "sha256:" + hashlib.sha256(self.query.strip().rstrip(";").encode()).hexdigest()


NOTHING = TableOrQuery()


def quoted(name: str) -> str:
    """Return a name as SQL has it.

    >>> quoted('2" pipes')
    '"2"" pipes"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


_HOMES = {
    "postgresql": "postgres:Postgres", "postgres": "postgres:Postgres", "duckdb": "duckdb_files:Duck",
    "sqlite": "sqlite:Sqlite",
}  # fmt: skip


def is_address(path: str) -> bool:
    """Tell whether this is the address of a database.

    >>> [is_address(path) for path in ("postgresql://h/db", "adbc+flightsql:grpc://h", "s3://b/a.csv")]
    [True, True, False]
    """
    return path.startswith("adbc+") or ("://" in path and path.partition("://")[0] in _HOMES)


def open_database(events: Any, target: TableOrQuery = NOTHING) -> Any:
    """Open a database, or what a program has of one; None if it is something else."""
    several = isinstance(events, Sequence) and not isinstance(events, str | bytes)
    given = list(events) if several else [events]
    addresses = [address for address in given if isinstance(address, str) and is_address(address)]
    if addresses:
        if len(given) > 1:
            raise UsageError("a database cannot be mixed with other sources", remedy="give it alone")
        return _open_address(addresses[0], target)
    return None if several or isinstance(events, str | os.PathLike) else _open_object(events, target)


def _open_address(address: str, target: TableOrQuery) -> Any:
    from headcount.events.sources.databases.database import DatabaseSource
    from headcount.events.sources.files.paths import redact

    target.check(redact(address))
    home = "connections:AnyDriver" if address.startswith("adbc+") else _HOMES[address.partition("://")[0]]
    module, _, name = home.partition(":")
    back_end = getattr(importlib.import_module(f"{databases.__name__}.{module}"), name)
    return DatabaseSource.look_up(back_end(address), target)


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
        return DatabaseSource.look_up(connections.Expression(given), target)
    target.check(f"the {kind.__name__}")
    if isinstance(given, sqlite3.Connection):  # which the thread that reads ahead may not use itself
        file = next(row[2] for row in given.execute("PRAGMA database_list") if row[1] == "main")
        if file:
            return _open_address(f"sqlite:///{file}", target)
    has_arrow = hasattr(kind, "adbc_get_info") or hasattr(kind, "to_arrow_reader")
    connection = connections.ArrowConnection if has_arrow else connections.PlainConnection
    return DatabaseSource.look_up(connection(given), target)
