"""Open connections and query objects of the caller (ADBC, DBAPI, DuckDB, Ibis): run once, rows cached.

They are in the caller's transaction, so a second run may give other rows; so may an unknown ADBC driver.

Arrow's types are taken as they are declared. Types of DBAPI connections differ by driver, so Headcount reads each
value as text, by itself, as in a column of Python objects.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pyarrow as pa

from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError
from headcount.events.sources import frames
from headcount.events.sources.databases.database import Column, Database, Relation
from headcount.events.sources.databases.query_shape import VIEWS, refuse_text_files
from headcount.events.sources.databases.table_or_query import TableOrQuery, quoted
from headcount.events.sources.files import formats

_ROWS = 50_000
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_DRIVER = re.compile(r"[a-z0-9_]+")


class CallerConnection(Database):
    """Something that can be run once."""

    def __init__(self, given: Any, address: str = "") -> None:
        super().__init__(address)
        self.shown = self.shown or f"the {type(given).__name__}"
        self._given = given

    def relation(self, target: TableOrQuery) -> Relation:
        """Describe a table or a query by running it for no rows; names that need no quotes have none."""
        names = [part if _PLAIN.fullmatch(part) else quoted(part) for part in target.parts] if target.table else []
        text = ".".join(names) or target.subquery
        columns = [Column.plain(field.name, str(field.type), field.type) for field in self._schema(text)]
        return Relation(text, tuple(columns), is_steady=False)

    def check(self) -> None:
        """Nothing can be asked without a run."""
        return

    def explain(self, error: Exception) -> HeadcountError | None:
        """Repeat the message of the driver, whose errors about values cannot be told from others."""
        if isinstance(error, HeadcountError):
            return None
        remedy = "see whether what you handed over can still be read, and check the table or query"
        kind = DataError if isinstance(error, pa.ArrowException) else SurroundingsError
        return kind(f"{self.shown} cannot be read ({self.message_of(error)})", remedy=remedy)

    @abstractmethod
    def _schema(self, text: str) -> pa.Schema:
        """Return the declared columns of a table or query."""


class ArrowConnection(CallerConnection):
    """A connection that hands over Arrow batches: of ADBC, or of DuckDB."""

    def stream(self, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run it."""
        with self._reader(f"SELECT * FROM {relation.text}") as reader:
            for batch in reader:
                yield batch.select(schema.names)

    def _schema(self, text: str) -> pa.Schema:
        nothing = f"SELECT * FROM {text} WHERE 1 = 0"
        if hasattr(self._given, "sql"):
            refuse_text_files(nothing, dict(self._given.sql(VIEWS).fetchall()))
        with self._reader(nothing) as reader:
            return reader.schema

    @contextmanager
    def _reader(self, statement: str) -> Iterator[pa.RecordBatchReader]:
        if hasattr(self._given, "sql"):
            yield self._given.sql(statement).to_arrow_reader(formats.BATCH_ROWS)
            return
        with self._given.cursor() as cursor:
            cursor.execute(statement)
            yield cursor.fetch_record_batch()


class PlainConnection(CallerConnection):
    """A connection of the DBAPI, whose rows are Python objects."""

    def stream(self, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run it, and write each value as text."""
        text = f"SELECT * FROM {relation.text}"
        if isinstance(self._given, sqlite3.Connection):  # converters go by declared types: expressions have none
            places = {f"c{place}": quoted(name) for place, name in enumerate(self._schema(relation.text).names)}
            values = ", ".join(f"+{place} AS {name}" for place, name in places.items())
            text = f"WITH headcount_rows({', '.join(places)}) AS ({text}) SELECT {values} FROM headcount_rows"
        with closing(self._given.cursor()) as cursor:
            cursor.execute(text)
            names = [str(description[0]) for description in cursor.description]
            while rows := _fetched(cursor):
                columns = dict(zip(names, zip(*map(tuple, rows), strict=True), strict=True))
                arrays = [frames.texts_of(columns[name]) for name in schema.names]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _schema(self, text: str) -> pa.Schema:
        with closing(self._given.cursor()) as cursor:
            cursor.execute(f"SELECT * FROM {text} WHERE 1 = 0")
            return pa.schema([(str(description[0]), pa.string()) for description in cursor.description])


def _fetched(cursor: Any) -> list[Any]:
    """Fetch some rows; a text that SQLite's driver cannot decode is missing."""
    if not isinstance(cursor, sqlite3.Cursor):
        return list(cursor.fetchmany(_ROWS))
    connection, decode = cursor.connection, cursor.connection.text_factory

    def decoded(data: bytes) -> Any:
        with suppress(Exception):  # a text factory of the program can raise any error
            return data.decode() if decode is str else decode(data)

    cursor.row_factory, connection.text_factory = None, decoded
    try:
        return cursor.fetchmany(_ROWS)
    finally:
        connection.text_factory = decode


class Expression(CallerConnection):
    """A relation of DuckDB's, or an expression of Ibis'."""

    def stream(self, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Run it."""
        for batch in self._reader(self._given):
            yield batch.select(schema.names)

    def _schema(self, text: str) -> pa.Schema:  # noqa: ARG002
        return self._reader(self._given.limit(0)).schema

    @staticmethod
    def _reader(given: Any) -> pa.RecordBatchReader:
        if hasattr(type(given), "to_pyarrow_batches"):
            return given.to_pyarrow_batches()
        return given.to_arrow_reader(formats.BATCH_ROWS)


class AnyDriver(ArrowConnection):
    """A database of an ADBC driver that is installed: ``adbc+DRIVER:URI``, the URI as the driver wants it.

    The driver is an installed Python package, ``adbc_driver_DRIVER``. ADBC's own manager may take a
    name for the path of a library, and run it. So it gets no name that a user gives.
    """

    def __init__(self, address: str) -> None:
        super().__init__(None, address)
        name, _, uri = address.removeprefix("adbc+").partition(":")
        if name == "sqlite":
            raise UsageError("the ADBC driver of SQLite guesses types from rows", remedy="use sqlite:///FILE")
        own = f"adbc_driver_{name}"
        if name == "manager" or not _DRIVER.fullmatch(name) or importlib.util.find_spec(own) is None:
            raise UsageError(f"{self.shown} names no ADBC driver that is installed", remedy=f"install {own}")
        with self.explain_errors():
            self._given = importlib.import_module(f"{own}.dbapi").connect(uri)
            weakref.finalize(self, self._given.close)
            with suppress(Exception):  # not every driver knows it
                self._given.adbc_connection.set_options(**{"adbc.connection.readonly": "true"})
