"""SQL statements in an open transaction: through SQLAlchemy, or directly on a read-only SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import sqlalchemy as sa


class Transaction(Protocol):
    """What can be done in a transaction; values are named ``:name``, rows are tuples."""

    def run(self, sql: str, /, **values: Any) -> None:
        """Run a statement."""

    def run_many(self, sql: str, rows: list[dict[str, Any]]) -> None:
        """Run a statement once for each row."""

    def first_row(self, sql: str, /, **values: Any) -> Any:
        """Return the first row, or None."""

    def all(self, sql: str, /, **values: Any) -> list[Any]:
        """Return all rows."""

    def walk(self, sql: str, /, **values: Any) -> Iterator[Any]:
        """Return row after row, without holding them all."""


class EngineTransaction:
    """A transaction of SQLAlchemy."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, /, **values: Any) -> None:
        """Run a statement."""
        self._connection.execute(_text(sql), values)

    def run_many(self, sql: str, rows: list[dict[str, Any]]) -> None:
        """Run a statement once for each row."""
        self._connection.execute(_text(sql), rows)

    def first_row(self, sql: str, /, **values: Any) -> Any:
        """Return the first row, or None."""
        return self._connection.execute(_text(sql), values).first()

    def all(self, sql: str, /, **values: Any) -> list[Any]:
        """Return all rows."""
        return list(self._connection.execute(_text(sql), values))

    def walk(self, sql: str, /, **values: Any) -> Iterator[Any]:
        """Return row after row, without holding them all."""
        yield from self._connection.execution_options(yield_per=1000).execute(_text(sql), values)


class FileTransaction:
    """A transaction on a SQLite file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, /, **values: Any) -> None:
        """Run a statement."""
        self._connection.execute(sql, values)

    def run_many(self, sql: str, rows: list[dict[str, Any]]) -> None:
        """Run a statement once for each row."""
        self._connection.executemany(sql, rows)

    def first_row(self, sql: str, /, **values: Any) -> Any:
        """Return the first row, or None."""
        return self._connection.execute(sql, values).fetchone()

    def all(self, sql: str, /, **values: Any) -> list[Any]:
        """Return all rows."""
        return self._connection.execute(sql, values).fetchall()

    def walk(self, sql: str, /, **values: Any) -> Iterator[Any]:
        """Return row after row, without holding them all."""
        yield from self._connection.execute(sql, values)


@cache
def _text(sql: str) -> sa.TextClause:
    import sqlalchemy as sa

    return sa.text(sql)
