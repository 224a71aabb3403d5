"""PostgreSQL source: one read-only transaction on one snapshot; rows come by COPY.

The server is reached as libpq does it: an address may leave out whatever ``PGHOST``, ``PGPASSWORD``, ``PGSERVICE``
or ``~/.pgpass`` say. Rows come through ADBC in PostgreSQL's binary form.

The type of a column depends on its declared type alone. Times outside of the years 1 to 9999 are missing: the
driver would take an infinite one for some moment in the past. Numbers of any size, UUIDs, JSON and network
addresses are read as the text that PostgreSQL writes for them, which it can for every value.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from headcount._internal.extras import require_package
from headcount.errors import DataError, HeadcountError, SurroundingsError, UnknownNameError, param
from headcount.events.encode.text_columns import is_text
from headcount.events.sources.databases.database import Column, Database, Relation
from headcount.events.sources.databases.table_or_query import TableOrQuery, literal, quoted

_AS_TEXT = {"numeric", "uuid", "json", "jsonb", "inet", "cidr", "macaddr", "macaddr8", "xml", "citext"}
_RANGES = {
    "timestamp": ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    "timestamptz": ("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
    "date": ("0001-01-01", "9999-12-31"),
}
_REFUSED = {"money", "oid", "regproc", "xid", "cid", "tid"}  # handed over as numbers that mean something else
_TABLES = (
    "SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname "
    "ELSE n.nspname || '.' || c.relname END::text AS name "
    "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' "
    "AND NOT c.relispartition ORDER BY 1"
)


class Postgres(Database):
    """A PostgreSQL server."""

    dialect = "postgres"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        with require_package("a PostgreSQL source", "adbc-driver-postgresql", "postgres"):
            from adbc_driver_postgresql import dbapi
        self._error: type[Exception] = dbapi.Error
        with self.explain_errors():
            self._connection = dbapi.connect(address, autocommit=True)
            weakref.finalize(self, _close, self._connection)
            self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._run("SET LOCAL standard_conforming_strings = on")

    def relation(self, target: TableOrQuery) -> Relation:
        """Look a table up by the search path, or describe a query."""
        kind = None if target.table is None else self._kind(target)
        text = target.subquery if kind is None else target.quoted
        fields = self._run(f"SELECT * FROM {text} WHERE false").schema
        return Relation(text, tuple(_column(field) for field in fields), is_steady=kind in ("r", "p", "m"))

    def stream(self, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Copy rows out of the server as they are read."""
        with self._connection.cursor() as cursor:
            cursor.execute(relation.selecting(schema.names))
            yield from cursor.fetch_record_batch()

    def check(self) -> None:
        """Ask the server for nothing."""
        self._run("SELECT 1 WHERE false")

    def explain(self, error: Exception) -> HeadcountError | None:
        """Tell by the SQLSTATE what the matter is."""
        if not isinstance(error, self._error | pa.ArrowException | OSError):
            return None
        state = getattr(error, "sqlstate", None) or ""
        message = self.message_of(error).partition(" Query was: ")[0]
        if state == "42501":
            return DataError(f"{self.shown} may not be read ({message})", remedy="ask for the right to read it")
        if state[:2] in ("0A", "22", "25", "42") or (not state and self._is_alive()):
            remedy = f"check {param.table} or {param.query}: it may only read, and must not fail on any value"
            return DataError(f"{self.shown} cannot run this ({message})", remedy=remedy)
        remedy = "see whether the server runs and lets you in, then run again"
        return SurroundingsError(f"{self.shown} is gone or cannot be reached ({message})", remedy=remedy)

    def _is_alive(self) -> bool:
        """Tell whether the server still answers: what goes wrong while rows come has no code of its own."""
        try:
            self.check()
        except self._error as error:
            return getattr(error, "sqlstate", None) == "25P02"  # that the transaction has failed, it says itself
        except AttributeError:  # there never was a connection
            return False
        return True

    def _kind(self, target: TableOrQuery) -> str:
        kinds = self._run(
            "SELECT relkind::text AS kind FROM pg_catalog.pg_class "
            f"WHERE oid = pg_catalog.to_regclass({literal(target.quoted)})"
        ).column(0)
        if not len(kinds):
            tables = self._run(_TABLES).column(0).to_pylist()
            raise UnknownNameError.among("table", target.table, tables, where=self.shown)
        return str(kinds[0])

    def _run(self, statement: str) -> pa.Table:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetch_arrow_table()


def _column(declared: pa.Field) -> Column:
    """Say how a column is asked for, by its declared type."""
    name, place = declared.name, quoted(declared.name)
    kind = (declared.metadata or {}).get(b"POSTGRESQL:type", b"").decode() or str(declared.type)
    if kind in _RANGES:
        first, last = map(literal, _RANGES[kind])
        inside = f"CASE WHEN {place} BETWEEN {first} AND {last} THEN {place} END"
        return Column.plain(name, kind, declared.type, inside)
    if kind in _AS_TEXT and not is_text(declared.type):
        return Column(name, kind, pa.string(), f"{place}::text")
    return Column(name, kind, None, place) if kind in _REFUSED else Column.plain(name, kind, declared.type)


def _close(connection: Any) -> None:
    with suppress(Exception):  # it may be gone already
        connection.close()
