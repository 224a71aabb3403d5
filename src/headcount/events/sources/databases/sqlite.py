"""SQLite source: one read transaction on a file opened read-only.

SQLite lets each row hold what it likes, whatever its column declares. So the declared type decides how a column is
read, and a value of another kind is missing. Columns that declare whole numbers or fractions hold those; all
others, and columns that a query works out, are text: numbers in them as SQLite writes them, bytes missing.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa

from headcount.errors import DataError, HeadcountError, SurroundingsError, UnknownNameError, param
from headcount.events.encode.text_columns import MAX_TEXT_BYTES, is_text
from headcount.events.sources.databases.database import Column, Database, Relation
from headcount.events.sources.databases.duckdb_files import CONFINED
from headcount.events.sources.databases.table_or_query import TableOrQuery, literal, quoted
from headcount.events.sources.files import formats

_ROWS = 100_000
_VIEW = "headcount_asked"
_BUSY = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM,
)  # fmt: skip


class Sqlite(Database):
    """A SQLite file: ``sqlite:///visits.db`` here, ``sqlite:////srv/visits.db`` anywhere."""

    dialect = "sqlite"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        path = address.partition("://")[2].removeprefix("/")
        if not os.path.isfile(path):
            raise DataError(
                f"{path or 'the empty path'} does not exist",
                remedy="sqlite:///visits.db is a file here, sqlite:////srv/visits.db one that lies elsewhere",
            )
        with self.explain_errors():
            place = "file:" + os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            self._connection = sqlite3.connect(
                f"{place}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._connection.close)
            self._connection.text_factory = bytes  # text that is no UTF-8 is left out later, and is no error here
            if os.environ.get(CONFINED):
                self._connection.set_authorizer(_confined)
            self._connection.execute("BEGIN")

    def relation(self, target: TableOrQuery) -> Relation:
        """Look a table up, or describe a query by a temporary view of it."""
        if target.table is not None:
            kind = self._kind(target)
            return Relation(target.quoted, self._columns(target.parts), is_steady=kind == "table")
        self._connection.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT * FROM {target.subquery}")
        return Relation(f"temp.{_VIEW}", self._columns(("temp", _VIEW)), is_steady=False)

    def stream(self, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read rows in parts; the statement sees to it that each value is of its column's type."""
        with closing(self._connection.execute(relation.selecting(schema.names))) as cursor:
            while rows := cursor.fetchmany(min(_ROWS, formats.BATCH_ROWS)):
                columns = zip(zip(*rows, strict=True), schema.types, strict=True)
                arrays = [
                    pa.array(values, pa.binary()).view(kind) if is_text(kind) else pa.array(values, kind)
                    for values, kind in columns
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def check(self) -> None:
        """Look into the file once more."""
        self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 0").fetchall()

    def explain(self, error: Exception) -> HeadcountError | None:
        """Tell a file that is busy or damaged from a query that cannot be run."""
        if not isinstance(error, sqlite3.Error | OSError):
            return None
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        message = self.message_of(error)
        if code in _BUSY or isinstance(error, OSError):
            return SurroundingsError(f"{self.shown} cannot be read now ({message})", remedy="try again")
        remedy = f"check the file, and {param.table} or {param.query}"
        return DataError(f"{self.shown} cannot be read ({message})", remedy=remedy)

    def _kind(self, target: TableOrQuery) -> str:
        schema, name = ("main", *target.parts)[-2:]
        listed = self._connection.execute(
            f"SELECT name, type FROM {quoted(schema)}.sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        ).fetchall()
        kinds = {str(table_name, "utf-8", "replace"): str(kind, "utf-8") for table_name, kind in listed}
        if name not in kinds:
            raise UnknownNameError.among("table", target.table, kinds, where=self.shown)
        return kinds[name]

    def _columns(self, parts: tuple[str, ...]) -> tuple[Column, ...]:
        schema, name = ("main", *parts)[-2:]
        rows = self._connection.execute(f"PRAGMA {quoted(schema)}.table_xinfo({literal(name)})").fetchall()
        return tuple(_column(str(row[1], "utf-8", "replace"), str(row[2], "utf-8", "replace")) for row in rows)


def _confined(action: int, argument: str | None, *_: str | None) -> int:
    """Refuse other files and every pragma but the one used here: as tables, pragmas name the path of the file."""
    refused = action == sqlite3.SQLITE_ATTACH or (action == sqlite3.SQLITE_PRAGMA and argument != "table_xinfo")
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK


def _column(name: str, declared: str) -> Column:
    """Say how a column is read, by SQLite's own rules of what a declared type stands for."""
    place, kind = quoted(name), declared.upper()
    if "INT" in kind:
        return Column(name, declared, pa.int64(), f"CASE typeof({place}) WHEN 'integer' THEN {place} END")
    textual = any(word in kind for word in ("CHAR", "CLOB", "TEXT", "BLOB"))
    if not textual and any(word in kind for word in ("REAL", "FLOA", "DOUB")):
        held = f"CASE WHEN typeof({place}) IN ('real', 'integer') THEN CAST({place} AS REAL) END"
        return Column(name, declared, pa.float64(), held)
    data = f"CAST({place} AS BLOB)"  # a text that is too long comes cut, and all others as they are
    cut = f"WHEN length({data}) > {MAX_TEXT_BYTES} THEN substr({data}, 1, {MAX_TEXT_BYTES + 1})"
    held = f"CASE WHEN typeof({place}) = 'blob' THEN NULL {cut} ELSE CAST({place} AS TEXT) END"
    return Column(name, declared, pa.string(), held)
