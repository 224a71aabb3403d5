"""Sources: files and Arrow objects as repeatable streams of record batches; ``open_source`` chooses one.

A source knows its columns without reading rows. It can be read again and again: what can be read only once
(standard input, an Arrow stream) is spooled to a private temporary file first, and a file that changes between
two passes is refused, since a bound worked out on one version must not be applied to another.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import PurePosixPath
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from headcount._internal.scratch_folders import remove_stale
from headcount.errors import DataError, HeadcountError, UnknownNameError, UsageError
from headcount.events import sources
from headcount.events.sources import pandas_frames
from headcount.events.sources.databases.table_or_query import NOTHING, TableOrQuery
from headcount.events.sources.files.column_schema import (
    agreed_type,
    folder_columns,
    in_folder,
    type_in,
    with_folder_columns,
)
from headcount.events.sources.files.formats import (
    BATCH_ROWS,
    OPENERS,
    Opened,
    TextOptions,
    declared,
    format_from_name,
    format_of,
    is_text,
    parquet_chunks,
    reading,
)
from headcount.events.sources.files.paths import files_at
from headcount.events.sources.naming import redact
from headcount.events.sources.spark_frames import SparkSource, is_spark_frame
from headcount.events.sources.spool import Spool, spool_input, spool_stream

Stamp = tuple[int | None, int | None]
"""How large a file is, and when it was last written."""


class Source(Protocol):
    """Rows to be read in passes."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

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


@runtime_checkable
class Reachable(Protocol):
    """A source that may turn out to be gone."""

    def check_reachable(self) -> None:
        """Refuse what cannot be opened; nothing is read from it."""


@runtime_checkable
class Assuming(Protocol):
    """A source of which something must be taken for granted."""

    @property
    def assumes(self) -> tuple[str, ...]:
        """What it is, for the promise of a release."""


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


@dataclass(frozen=True)
class FileSource:
    """One or more files of one format; ``key=value`` folders on their paths become text columns."""

    files: tuple[str, ...]
    filesystem: pafs.FileSystem = field(repr=False)
    format: str
    text: TextOptions = field(default_factory=TextOptions)
    spool: Spool | None = field(default=None, repr=False, compare=False)
    given: tuple[str, ...] = field(default=(), compare=False)
    """What the caller gave: of the files that a folder or pattern stands for, errors name none."""
    whole: frozenset[str | None] = field(default=frozenset(), compare=False)
    """Columns of which whole numbers alone count, so that fractions and whole numbers are one type."""

    def __post_init__(self) -> None:
        if self.format != "csv" and self.text.given:
            raise UsageError(
                f"{self.text.given} is for delimited text, but {self.name} is not", remedy="leave it out"
            )

    @property
    def name(self) -> str:
        """What the caller gave, or the first of several: listed files may be named after users."""
        given = self.given or self.files
        return given[0] if len(given) == 1 else f"{given[0]} (and {len(given) - 1} more)"

    def type_of(self, column: str) -> pa.DataType | None:
        """Look into the headers of all files, and at the names of their folders; refuse types that differ."""
        if column not in self._types:
            self._types[column] = self._agreed_type(column)
        return self._types[column]

    def _agreed_type(self, column: str) -> pa.DataType | None:
        (first, header), *others = self._headers.items()
        kind, before = type_in(header, self._folder(first), column), self._shown(first)
        for path, header in others if kind is not None else ():
            with self._reading(path):
                here, where = type_in(header, self._folder(path), column), self._shown(path)
                if here is None:
                    raise UnknownNameError.among("column", column, header.names(), where=where)
                kind = agreed_type(column, kind, here, where, before, column in self.whole)
        return kind

    @cached_property
    def _types(self) -> dict[str, pa.DataType | None]:
        return {}

    @cached_property
    def _headers(self) -> dict[str, Opened]:
        """Return what files declare, when the log is described: no later pass finds that two differ."""
        closed = partial(replace, batches=lambda _: iter(()), metadata=None)  # none stays open
        opened = zip(self.files, itertools.chain([self._first[0]], map(self._open, self.files[1:])), strict=True)
        filled = {path: closed(file) for path, file in opened if not self._is_empty(file)}
        if not filled and self.format == "csv":
            raise DataError(f"{self.name} is empty", remedy="it needs at least a header line")
        return filled or {self.files[0]: closed(self._first[0])}

    def _is_empty(self, opened: Opened) -> bool:
        """Tell whether a file declares no rows: writers leave it, in any types, where a user has none."""
        return not (opened.metadata.num_rows if opened.metadata else opened.is_open or opened.names())

    @cached_property
    def _keys(self) -> dict[str, None]:
        return dict.fromkeys(key for path in self.files for key in folder_columns(path))

    def _folder(self, path: str) -> dict[str, str | None]:
        """Return what the folders of a file say; a key of other files is missing, unless rows hold it."""
        keys = () if self.format == "jsonl" else self._keys
        return {key: None for key in keys if self.text.header or not key.isdecimal()} | folder_columns(path)

    @cached_property
    def names(self) -> list[str]:
        """The columns of the first file that has some, and those of folders."""
        path, header = next(iter(self._headers.items()))
        with self._reading(path):
            own = header.names()
        return [*own, *(key for key in self._keys if key not in own)]

    @cached_property
    def _first(self) -> tuple[Opened, list[Stamp]]:
        """Return the first file, and how large and old all of them were when it was opened."""
        stamps = self.stamps()
        return self._open(self.files[0]), stamps

    @cached_property
    def rows(self) -> int | None:
        """The number of rows, from the Parquet footers."""
        if self.format != "parquet":
            return None
        return sum(int(self._open(path).metadata.num_rows) for path in self.files)

    def row_groups(self, path: str) -> list[int]:
        """Return how many rows each row group of a Parquet file has."""
        metadata = self._open(path).metadata
        return [int(metadata.row_group(number).num_rows) for number in range(metadata.num_row_groups)]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns of every file in turn."""
        self._refuse_if_changed()
        wanted = {name: kind for name in columns if (kind := self.type_of(name)) is not None}
        for path in self.files:
            yield from self.batches_of(path, wanted)
        self._refuse_if_changed()

    def check_reachable(self) -> None:
        """Refuse files that cannot be opened; nothing is read from them."""
        for path in self.files:
            with self._reading(path):
                self.filesystem.open_input_file(path).close()

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Look at the statistics in the Parquet footers."""
        if self.format != "parquet" or column in self._keys:
            return None
        chunks = []
        for path in self.files:
            metadata = self._open(path).metadata
            with self._reading(path):
                column_chunks = parquet_chunks(metadata, column)
                if metadata.num_row_groups != len(column_chunks):
                    return None
                chunks += [chunk.statistics for chunk in column_chunks if chunk.num_values]
        if not chunks or not all(
            statistics and statistics.has_min_max and isinstance(statistics.min, int) for statistics in chunks
        ):
            return None
        return min(int(statistics.min) for statistics in chunks), max(int(statistics.max) for statistics in chunks)

    def batches_of(
        self, path: str, wanted: dict[str, pa.DataType], groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read columns of one file, or of some of its row groups, in the types that all files agree on."""
        folder = self._folder(path)
        opened = self._open(path, [name for name in wanted if name not in folder and is_text(wanted[name])])
        if self._is_empty(opened):
            return
        stored = [name for name in wanted if not in_folder(opened, folder, name)]
        as_wanted = all(name in stored and opened.type_of(name) == wanted[name] for name in wanted)
        with self._reading(path):
            for batch in opened.batches(stored, *(() if groups is None else (groups,))):
                yield batch if as_wanted else with_folder_columns(batch, wanted, folder)

    @property
    def _remote(self) -> bool:
        return not isinstance(self.filesystem, pafs.LocalFileSystem)

    def _shown(self, path: str) -> str:
        """Name a file as the caller gave it."""
        if path in (self.given or self.files):
            return path
        return self.name if len(self.files) == 1 else f"a file of {self.name}"

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Name the given path in errors, and the file itself for the curator alone."""
        try:
            with reading(self._shown(path), remote=self._remote, path=path):
                yield
        except HeadcountError as error:
            error.file = path if self.spool is None and self._shown(path) != path else None
            raise

    def _open(self, path: str, text_as_codes: Sequence[str] = ()) -> Opened:
        with self._reading(path):
            opened = OPENERS[self.format](self.filesystem, path, self._shown(path), self.text, text_as_codes)
            if not opened.is_open:
                opened.names()  # damaged names show here
            return opened

    def stamps(self) -> list[Stamp]:
        """Return how large each file is, and when it was last written."""
        with reading(self.name, remote=self._remote):
            infos = self.filesystem.get_file_info(list(self.files))
        for info in infos:
            if info.type == pafs.FileType.NotFound:
                raise DataError(f"{self._shown(info.path)} does not exist", remedy="check the path")
        return [(info.size, info.mtime_ns) for info in infos]

    def _refuse_if_changed(self) -> None:
        if self.stamps() != self._first[1]:
            raise DataError(
                f"{self.name} changed while it was being read",
                remedy="wait until it is complete, then run again",
            )


def assumptions_of(source: Source) -> tuple[str, ...]:
    """Return what must be taken for granted of a source."""
    return source.assumes if isinstance(source, Assuming) else ()


def check_reachable(source: Source) -> None:
    """See that all of a source can be opened, without reading anything from it."""
    if isinstance(source, Reachable):
        source.check_reachable()


def open_source(events: Any, text: TextOptions = TextOptions(), target: TableOrQuery = NOTHING) -> Source:  # noqa: B008
    """Open paths, globs, folders, URIs, ``-``, a database, an Arrow stream or table, a Spark frame, a source."""
    if hasattr(type(events), "type_of") and hasattr(type(events), "batches"):
        source: Source = events
        return source
    remove_stale()
    database_source: Source | None = sources.open_database(events, target)
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
        return TableSource(pandas_frames.table_of(events) if of_pandas else pa.table(events))
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
        from headcount.events.sources.web import fetched

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
