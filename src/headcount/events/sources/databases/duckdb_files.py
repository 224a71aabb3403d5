"""DuckDB source: a database file opened read-only, or an in-memory DuckDB for file queries.

``duckdb://`` without a file is for queries over files, such as ``SELECT * FROM 'log/*.parquet'``.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from headcount._internal.extras import require_package
from headcount._internal.files import ScratchFolder
from headcount.errors import DataError, HeadcountError, SurroundingsError, UnknownNameError, param
from headcount.events.encode.text_columns import MAX_TEXT_BYTES
from headcount.events.sources.databases.database import Column, Database, Relation
from headcount.events.sources.databases.query_shape import VIEWS, refuse_text_files
from headcount.events.sources.databases.table_or_query import TableOrQuery, quoted
from headcount.events.sources.files import formats

CONFINED = "HEADCOUNT_CONFINED"
"""If this variable of the environment is set, nothing is opened beside the file itself, whatever a view or a query
of it says: for a server that reads uploaded files."""
_WIDE = ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT")  # as text: not all of them fit into what Arrow has
_TIMES = ("DATE", "TIMESTAMP")
_TABLES = (
    "SELECT CASE WHEN schema_name = current_schema() AND database_name = current_database() THEN '' "
    "ELSE schema_name || '.' END || name AS name, kind, database_name, schema_name, name AS own FROM ("
    "SELECT database_name, schema_name, table_name AS name, 'table' AS kind FROM duckdb_tables() UNION ALL "
    "SELECT database_name, schema_name, view_name, 'view' FROM duckdb_views() WHERE NOT internal) ORDER BY 1"
)


@functools.cache
def _spill_folder() -> ScratchFolder:
    """Return where DuckDB writes rows that do not fit into memory: beside its file they would outlive a kill.

    All connections of a process share it: DuckDB opens a file twice only with equal settings.
    """
    return ScratchFolder()


class Duck(Database):
    """A DuckDB file, or none."""

    dialect = "duckdb"
    is_here = True

    def __init__(self, address: str) -> None:
        super().__init__(address)
        with require_package("a DuckDB source", "duckdb", "duckdb"):
            import duckdb
        self._duckdb = duckdb
        path = address.partition("://")[2]
        if path and not os.path.isfile(path):
            raise DataError(
                f"{path} does not exist", remedy="duckdb://FILE is the path as it is, such as duckdb://visits.db"
            )
        with self.explain_errors():
            settings: dict[str, Any] = {"temp_directory": str(_spill_folder().path)}
            self._connection = self._duckdb.connect(path or ":memory:", read_only=bool(path), config=settings)
            if os.environ.get(CONFINED):
                self._connection.execute("SET enable_external_access = false")  # DuckDB lets nothing undo it
            weakref.finalize(self, self._connection.close)

    def relation(self, target: TableOrQuery) -> Relation:
        """Look a table up, or describe a query."""
        is_table = target.table is not None and self._is_table(target)
        text = target.subquery if target.table is None else target.quoted
        if target.query is not None:
            self._check_statement(text)
        if not is_table:
            refuse_text_files(f"SELECT * FROM {text}", dict(self._connection.sql(VIEWS).fetchall()))
        description = self._connection.sql(f"SELECT * FROM {text} LIMIT 0")
        kinds = [str(kind) for kind in description.types]
        fields = description.to_arrow_reader(1).schema
        columns = tuple(_column(field, kind) for field, kind in zip(fields, kinds, strict=True))
        return Relation(text, columns, is_steady=is_table)

    def stream(self, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Stream rows; each pass has a connection of its own, and no file can change that is open here."""
        with self._connection.cursor() as own:
            yield from own.sql(relation.selecting(schema.names)).to_arrow_reader(formats.BATCH_ROWS)

    def size(self, relation: Relation) -> int | None:
        """Look it up; DuckDB keeps it for each part of a table."""
        return self._first_row(f"SELECT count(*) FROM {relation.text}")[0]

    def extremes(self, relation: Relation, column: str) -> tuple[int, int] | None:
        """Look them up; DuckDB keeps them for each part of a table."""
        low, high = self._first_row(f"SELECT min({quoted(column)}), max({quoted(column)}) FROM {relation.text}")
        return None if low is None or high is None else (low, high)

    def _first_row(self, statement: str) -> tuple[int | None, ...]:
        with self._connection.cursor() as own:
            return tuple(own.sql(statement).fetchall()[0])

    def check(self) -> None:
        """Ask for nothing."""
        self._connection.sql("SELECT 1 LIMIT 0").fetchall()

    def explain(self, error: Exception) -> HeadcountError | None:
        """Tell errors about values from errors of the query, the file or the machine."""
        duckdb, message = self._duckdb, self.message_of(error)
        if not isinstance(error, duckdb.Error | pa.ArrowException | OSError):
            return None
        if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException | duckdb.DataError):
            remedy = "write the query so that it fails on no value"
            return DataError(f"{self.shown} stumbled over a value ({message})", remedy=remedy)
        if isinstance(error, duckdb.OutOfMemoryException | OSError | duckdb.InternalException):
            return SurroundingsError(f"{self.shown} cannot be read ({message})")
        remedy = f"check the file, and {param.table} or {param.query}"
        return DataError(f"{self.shown} cannot be read ({message})", remedy=remedy)

    def _is_table(self, target: TableOrQuery) -> bool:
        tables = self._connection.sql(_TABLES).fetchall()
        own = [row for row in tables if row[2:][-len(target.parts) :] == target.parts]
        if len(target.parts) == 1:
            own = [row for row in own if row[0] == row[4]]
        if not own:
            raise UnknownNameError.among("table", target.table, [row[0] for row in tables], where=self.shown)
        return bool(own[0][1] == "table")

    def _check_statement(self, text: str) -> None:
        """Refuse what would not only read: it must be one SELECT."""
        parts = self._duckdb.extract_statements(f"SELECT * FROM {text}")
        if len(parts) != 1 or parts[0].type != self._duckdb.StatementType.SELECT:
            raise DataError(f"{param.query} must be one SELECT", remedy="only read from it")


def _column(declared: pa.Field, kind: str) -> Column:
    place = quoted(declared.name)
    if kind in _WIDE:
        return Column(declared.name, kind, pa.string(), f"CAST({place} AS VARCHAR)")
    if kind.startswith(_TIMES):
        return Column.plain(declared.name, kind, declared.type, f"CASE WHEN isfinite({place}) THEN {place} END")
    if kind == "VARCHAR":  # a text that is too long comes cut: many rows can share it in the file
        cut = f"WHEN strlen({place}) > {MAX_TEXT_BYTES} THEN left({place}, {MAX_TEXT_BYTES + 1})"
        return Column.plain(declared.name, kind, declared.type, f"CASE {cut} ELSE {place} END")
    return Column.plain(declared.name, kind, declared.type)
