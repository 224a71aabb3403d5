"""Sources: files and Arrow objects as repeatable streams of record batches; ``open_source`` chooses one.

A source knows its columns without reading rows. It can be read again and again: what can be read only once
(standard input, an Arrow stream) is spooled to a private temporary file first, and a file that changes between
two passes is refused, since a bound worked out on one version must not be applied to another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from headcount._internal.files import remove_stale
from headcount.errors import DataError, UsageError, param
from headcount.events.sources import frames
from headcount.events.sources.databases.table_or_query import NOTHING, TableOrQuery, open_database
from headcount.events.sources.files.file_source import FileSource
from headcount.events.sources.files.formats import BATCH_ROWS, TextOptions, declared, format_from_name, format_of
from headcount.events.sources.files.paths import files_at, redact
from headcount.events.sources.frames import SparkSource, is_spark_frame
from headcount.events.sources.spool import Spool, spool_input, spool_stream


class Source(Protocol):
    """Rows to be read in passes."""

    @property
    def name(self) -> str:
        """The name in messages."""

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the declared type of a column, known without reading rows; None if there is no such column."""

    @property
    def names(self) -> list[str]:
        """The names of the columns; where rows alone say them, those that are met: for the curator's eyes only."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known beforehand."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns, one pass."""

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Return the smallest and largest value of an integer column, where that is known beforehand."""


@dataclass(frozen=True)
class TableSource:
    """An Arrow table in memory."""

    table: pa.Table = field(repr=False)
    name: str = "the table"

    def type_of(self, column: str) -> pa.DataType | None:
        """Look into the table's schema."""
        return declared(self.table.schema, self.name)(column)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.schema.names)

    @property
    def rows(self) -> int | None:
        """The number of rows."""
        return int(self.table.num_rows)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Look at the column."""
        extremes = pc.min_max(self.table[column]).as_py()
        return None if extremes["min"] is None else (extremes["min"], extremes["max"])


def assumptions_of(source: Source) -> tuple[str, ...]:
    """Return the assumptions of a guarantee about a source; most sources need none and have no ``assumes``."""
    assumptions: tuple[str, ...] = getattr(source, "assumes", ())
    return assumptions


def check_reachable(source: Source) -> None:
    """Refuse a source that cannot be opened, without reading from it; one in memory has no ``check_reachable``."""
    getattr(source, "check_reachable", lambda: None)()


def open_source(events: Any, text: TextOptions = TextOptions(), target: TableOrQuery = NOTHING) -> Source:  # noqa: B008
    """Open paths, globs, folders, URIs, ``-``, a database, an Arrow stream or table, a Spark frame, a source."""
    if hasattr(type(events), "type_of") and hasattr(type(events), "batches"):
        source: Source = events
        return source
    remove_stale()
    database_source: Source | None = open_database(events, target)
    if text.given and (database_source is not None or _is_arrow(events)):
        raise UsageError(f"{text.given} is for files of delimited text", remedy="leave it out")
    if database_source is not None:
        return database_source
    if isinstance(events, str | os.PathLike):
        events = [events]
    if isinstance(events, Sequence) and events and all(isinstance(e, str | os.PathLike) for e in events):
        target.refuse(redact(os.fspath(events[0])))
        return _open_paths([os.fspath(path) for path in events], text)
    target.refuse(f"a {type(events).__name__}")
    if isinstance(events, pa.Table):
        return TableSource(events)
    if is_spark_frame(events):
        return SparkSource(events)
    if isinstance(events, pa.RecordBatch) or not hasattr(events, "__arrow_c_stream__"):
        return _table_of(events)
    if type(events).__module__.split(".")[0] in ("pandas", "polars"):  # in memory already
        return _table_of(events)
    spool, path = spool_stream(events)
    return FileSource((path,), pafs.LocalFileSystem(), "arrow", spool=spool, given=(spool.shown,))


def _is_arrow(events: Any) -> bool:
    return hasattr(events, "__arrow_c_stream__") or hasattr(events, "__arrow_c_array__")


def _table_of(events: Any) -> TableSource:
    if not _is_arrow(events):
        lazy = hasattr(events, "collect")
        raise UsageError(
            f"events must be a path, several paths, or an Arrow object, not {type(events).__name__}",
            remedy="collect it first"
            if lazy
            else "pass a Parquet, CSV, JSON lines or Arrow file, or a pyarrow, pandas or Polars table",
        )
    try:
        of_pandas = type(events).__module__.split(".")[0] == "pandas" and hasattr(events, "dtypes")
        return TableSource(frames.table_of(events) if of_pandas else pa.table(events))
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = " ".join(" ".join(str(part) for part in error.args).split())[:200]
        raise DataError(
            f"the {type(events).__name__} cannot be read as columns ({reason})",
            remedy="give every column one type",
        ) from error


def _open_paths(paths: Sequence[str], text: TextOptions) -> FileSource:
    spool: Spool | None = None
    if "-" in paths:
        if len(paths) > 1:
            raise UsageError("'-' (standard input) cannot be mixed with files", remedy="give one or the other")
        spool, path = spool_input(text)
        kind = text.format or format_of(path)
        return FileSource((path,), pafs.LocalFileSystem(), kind, text, spool, (spool.shown,))
    if any(path.startswith(("https://", "http://")) for path in paths):
        if not all(path.startswith(("https://", "http://")) for path in paths):
            raise UsageError("the files lie in several stores", remedy="give paths of one store")
        from headcount.events.sources.spool import fetched

        names = [PurePosixPath(redact(path)).name for path in paths]
        _one_format(names, text, names)
        spool, files = fetched(paths)
        filesystem: pafs.FileSystem = pafs.LocalFileSystem()
    else:
        filesystem, files = files_at(paths)
    return FileSource(
        tuple(files), filesystem, _one_format(files, text, paths), text, spool, tuple(map(redact, paths))
    )


def _one_format(files: Sequence[str], text: TextOptions, given: Sequence[str]) -> str:
    formats = {text.format or format_from_name(path) or format_of(path, path in given) for path in files}
    if len(formats) > 1:
        raise UsageError(
            f"the files are of several formats: {', '.join(sorted(formats))}", remedy="give files of one format"
        )
    return formats.pop()


ROW = "(row)"
"""The name of the column of row numbers."""

ROW_IS_USER = "every row is one person, and nobody has two: the place of a row stands for the user id"


@dataclass(frozen=True)
class RowAsUserSource:
    """A table with one row for each user and no user column: the row number is the user id.

    Why it is private
        The guarantee assumes that every row is one user and that no user has two, and says so. One user more or
        less is then one row more or less. Row numbers are distinct, whatever else is in the table, so every row is
        bounded by itself, as one user with one record.

        One row less gives later rows other numbers. Numbers decide nothing but draws, where a group is cut down,
        and draws are a function of a fresh secret and the number: for different numbers they are independent, and
        their joint distribution is the same for any set of numbers of the same size. So a measurement of the
        others has the distribution that it would have if they had kept their numbers.

        All passes must see the same order. Files that change are refused and tables in memory do not change; the
        rows of a database and of Spark have no order that stays, so they are refused.

    >>> rows = RowAsUserSource.over(TableSource(pa.table({"age": [30, 70]})))
    >>> [batch.to_pydict() for batch in rows.batches(["age", ROW])]
    [{'age': [30, 70], '(row)': [0, 1]}]
    """

    source: Source

    @classmethod
    def over(cls, source: Source) -> RowAsUserSource:
        """Take files and tables in memory, whose rows stay in order; refuse other sources."""
        if not isinstance(source, FileSource | TableSource):
            raise UsageError(
                f"{param.user} is missing, and the rows of {source.name} have no order that stays, so that they "
                "cannot stand for people",
                remedy="name the column that says who, or write the table to a file",
            )
        return cls(source)

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.source.name

    @property
    def names(self) -> list[str]:
        """The names of the columns that there really are."""
        return self.source.names

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known beforehand."""
        return self.source.rows

    @property
    def assumes(self) -> tuple[str, ...]:
        """The assumption of the guarantee."""
        return (ROW_IS_USER,)

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the declared type of a column."""
        return pa.int64() if column == ROW else self.source.type_of(column)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns, one pass."""
        read = [name for name in columns if name != ROW] or self.source.names[:1]
        begin = 0
        for batch in self.source.batches(read):
            places = pa.array(np.arange(begin, begin + batch.num_rows))
            begin += batch.num_rows
            yield pa.RecordBatch.from_arrays(
                [places if name == ROW else batch.column(name) for name in columns], names=list(columns)
            )

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Return the smallest and largest value of an integer column, where that is known beforehand."""
        if column != ROW:
            return self.source.whole_range(column)
        return (0, self.rows - 1) if self.rows else None

    def check_reachable(self) -> None:
        """Refuse what cannot be opened; nothing is read from it."""
        check_reachable(self.source)


def underlying_source(source: Source) -> Source:
    """Return what rows are really read from."""
    return source.source if isinstance(source, RowAsUserSource) else source
