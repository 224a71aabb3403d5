"""Base of database sources: declared column types, and one read-only snapshot for all passes.

A database is opened for reading alone. A table is read again in each pass, within one snapshot. The rows of a view
or a query may depend on more than that, so it runs once, and its rows are kept: in memory up to a fixed size, else
in a private file.

Only the needed columns are selected. Conditions stay with Headcount: no database compares missing values, texts,
numbers and times quite as ``--where`` and ``--since`` do.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

import pyarrow as pa
import pyarrow.fs as pafs

from headcount.errors import DataError, HeadcountError, param
from headcount.events.encode.text_columns import is_text, value_type
from headcount.events.sources.databases.query_shape import assumption
from headcount.events.sources.databases.table_or_query import TableOrQuery, quoted
from headcount.events.sources.files import formats
from headcount.events.sources.files.file_source import FileSource
from headcount.events.sources.files.formats import declared
from headcount.events.sources.files.paths import redact, scrub
from headcount.events.sources.source import Source, TableSource
from headcount.events.sources.spool import Spool


@dataclass(frozen=True)
class Column:
    """A column as the database declares it, the type it is read as (None: it cannot be), and how it is asked."""

    name: str
    declared: str
    type: pa.DataType | None
    expression: str

    @classmethod
    def plain(cls, name: str, declared: str, kind: pa.DataType, expression: str | None = None) -> Column:
        """Take a column as the driver hands it over, if that can be read."""
        return cls(name, declared, readable(kind), expression or quoted(name))


@dataclass(frozen=True)
class Relation:
    """A table, view or query, its columns, and whether it is sure to give the same rows again."""

    text: str
    columns: tuple[Column, ...]
    is_steady: bool

    @property
    def schema(self) -> pa.Schema:
        """The columns that can be read."""
        return pa.schema([(column.name, column.type) for column in self.columns if column.type is not None])

    def selecting(self, names: Sequence[str]) -> str:
        """Return the statement that reads some columns."""
        expressions = {column.name: column.expression for column in self.columns}
        return f"SELECT {', '.join(f'{expressions[name]} AS {quoted(name)}' for name in names)} FROM {self.text}"


class Database(ABC):
    """A database that was opened for reading alone.

    ``dialect`` is the SQL that it speaks, if that is known. One that ``is_here`` fetches rows with all cores of
    this machine, so that nothing is gained by making something of the first before the last one is there.
    """

    dialect: ClassVar[str | None] = None
    is_here: ClassVar[bool] = False

    def __init__(self, address: str) -> None:
        self._address = address
        self.shown = redact(address)

    @abstractmethod
    def relation(self, target: TableOrQuery) -> Relation:
        """Look up a table or a query; no row of it is read."""

    @abstractmethod
    def stream(self, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read some columns, which are declared as ``schema`` says, and hand over the rows as they come."""

    def size(self, relation: Relation) -> int | None:  # noqa: ARG002
        """Return how many rows a table has, if it is known without reading them."""
        return None

    def extremes(self, relation: Relation, column: str) -> tuple[int, int] | None:  # noqa: ARG002
        """Return the smallest and largest of whole numbers of a table, if they are known without reading rows."""
        return None

    @abstractmethod
    def check(self) -> None:
        """Fail if the database is gone; nothing is read from it."""

    @abstractmethod
    def explain(self, error: Exception) -> HeadcountError | None:
        """Say what an error of the driver means, or nothing if it is none."""

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Tell what the driver says in our words: without credentials, nor the error that may hold them."""
        try:
            yield
        except Exception as error:
            explained_error = self.explain(error)
            if explained_error is None:
                raise
            error.args = ()  # it may hold the address
        else:
            return
        raise explained_error from None

    def message_of(self, error: Exception) -> str:
        """Return what the driver said, without credentials."""
        return scrub(str(error), self._address)


@dataclass(frozen=True, eq=False)
class DatabaseSource:
    """A table, a view or a query of a database."""

    database: Database = field(repr=False)
    target: TableOrQuery = field(repr=False)
    relation: Relation = field(repr=False)
    name: str
    _kept: RowCache = field(init=False, repr=False)

    def __post_init__(self) -> None:
        named = [column.name for column in self.relation.columns]
        schema = pa.schema([column for column in self.relation.schema if named.count(column.name) == 1])
        kept = RowCache(self.name, schema, partial(_rows, self.database, self.relation, schema))
        object.__setattr__(self, "_kept", kept)

    @classmethod
    def look_up(cls, database: Database, target: TableOrQuery) -> DatabaseSource:
        """Look up a table or a query."""
        with database.explain_errors():
            relation = database.relation(target)
        return cls(database, target, relation, f"{database.shown} ({target.words})" if target else database.shown)

    @property
    def names(self) -> list[str]:
        """The columns that can be read."""
        return list(dict.fromkeys(self.relation.schema.names))

    def type_of(self, column: str) -> pa.DataType | None:
        """Look at what the database declares; refuse a type that cannot be read."""
        for odd in self.relation.columns:
            if odd.name == column and odd.type is None:
                raise DataError(
                    f"column {column!r} of {self.name} holds {odd.declared}, which cannot be read",
                    remedy=f"cast it with {param.query}, such as "
                    f"'SELECT CAST({column} AS varchar) AS {column}, … FROM …'",
                )
        return declared(self.relation.schema, self.name)(column)

    @property
    def rows(self) -> int | None:
        """How many rows there are: of a table if the database knows, of all else once they were fetched."""
        return self._size if self.relation.is_steady else self._kept.rows

    @cached_property
    def _size(self) -> int | None:
        with self.database.explain_errors():
            return self.database.size(self.relation)

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Ask for that of a table; of all else look at the rows, where these can as well be fetched at once."""
        if self.relation.is_steady:
            with self.database.explain_errors():
                return self.database.extremes(self.relation, column)
        return self._kept.all().whole_range(column) if self.database.is_here else None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns, one pass."""
        if not self.relation.is_steady:
            yield from self._kept.batches(columns)
            return
        schema = pa.schema([(name, self.type_of(name)) for name in columns])
        yield from _rows(self.database, self.relation, schema)

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        """The assumption about a query."""
        return () if self.target.query is None else (assumption(self.target.query, self.database.dialect),)

    def check_reachable(self) -> None:
        """Refuse a database that is gone; nothing is read from it."""
        with self.database.explain_errors():
            self.database.check()


def _rows(database: Database, relation: Relation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read some columns, in parts that are not too large."""
    with database.explain_errors():
        for batch in database.stream(relation, schema):
            rows = as_declared(batch, schema, database.shown)
            for start in range(0, rows.num_rows, formats.BATCH_ROWS):
                yield rows.slice(start, formats.BATCH_ROWS)


def readable(kind: pa.DataType) -> pa.DataType | None:
    """Return the type that a column is read as: instants are told in UTC; None if it cannot be read.

    >>> readable(pa.timestamp("us", "Europe/Zurich")), readable(pa.list_(pa.int8())) is None
    (TimestampType(timestamp[us, tz=UTC]), True)
    """
    if isinstance(kind, pa.BaseExtensionType):  # numbers and JSON of PostgreSQL's, as some hand them over
        return kind.storage_type if is_text(kind.storage_type) else None
    value_kind = value_type(kind)
    if pa.types.is_timestamp(value_kind):
        return value_kind if value_kind.tz is None else pa.timestamp(value_kind.unit, "UTC")
    plain = (
        pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date,
        pa.types.is_null, is_text,
    )  # fmt: skip
    return kind if any(test(value_kind) for test in plain) else None


def as_declared(batch: pa.RecordBatch, schema: pa.Schema, where: str) -> pa.RecordBatch:
    """Return rows with the types that were declared; a driver that hands over others is refused."""
    if batch.schema.equals(schema):
        return batch
    arrays = []
    for field_, column in zip(schema, batch.columns, strict=True):
        if column.type != field_.type and readable(column.type) != field_.type:
            raise DataError(
                f"{where} declares {field_.type} for column {field_.name!r} but hands over {column.type}",
                remedy="cast it in a query",
            )
        plain = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
        arrays.append(plain if plain.type == field_.type else plain.cast(field_.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


HELD = 256 << 20
"""Bytes of rows that are held in memory."""


class RowCache:
    """Rows of a stream that cannot be trusted, or got, to give the same again.

    >>> rows = RowCache("a stream", pa.schema([("n", pa.int64())]), lambda: iter([pa.record_batch({"n": [1, 2]})]))
    >>> [batch.num_rows for _ in range(2) for batch in rows.batches(["n"])]
    [2, 2]
    """

    def __init__(self, shown: str, schema: pa.Schema, stream: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._shown, self._schema, self._stream = shown, schema, stream
        self._kept: Source | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns; a first pass that stops early leaves nothing behind."""
        return self._first(list(columns)) if self._kept is None else self._kept.batches(columns)

    def all(self) -> Source:
        """Return all rows, fetched now if they were not."""
        if self._kept is None:
            for _ in self._first([]):
                pass
        if self._kept is None:
            raise RuntimeError("a stream that came to its end is kept")
        return self._kept

    @property
    def rows(self) -> int | None:
        """How many there are, once they were fetched."""
        return None if self._kept is None else self._kept.rows

    def _first(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows, size = self._stream(), 0
        for batch in rows:
            held.append(batch)
            size += batch.nbytes
            if size > HELD:
                yield from self._spooled(held, rows, columns)
                return
            yield batch.select(columns)
        self._kept = TableSource(pa.Table.from_batches(held, self._schema), self._shown)

    def _spooled(
        self, held: list[pa.RecordBatch], rows: Iterator[pa.RecordBatch], columns: list[str]
    ) -> Iterator[pa.RecordBatch]:
        """Write everything to a file; all that is held but the last was handed on already."""
        spool = Spool(self._shown)
        path = str(spool.folder / "rows.arrow")
        try:
            with pa.OSFile(path, "wb") as out, pa.ipc.new_stream(out, self._schema) as writer:
                for batch in held[:-1]:
                    writer.write_batch(batch)
                last = held[-1]
                held.clear()
                for batch in itertools.chain([last], rows):
                    writer.write_batch(batch)
                    yield batch.select(columns)
        except OSError as error:
            raise spool.failed(error) from error
        except BaseException:
            spool.delete()
            raise
        self._kept = FileSource((path,), pafs.LocalFileSystem(), "arrow", spool=spool, given=(self._shown,))
