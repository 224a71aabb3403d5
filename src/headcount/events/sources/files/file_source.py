"""Files of one format as a source: agreed column types, ``key=value`` folders, and parts for workers.

A file that changes between two passes is refused: a bound for one version must not be applied to another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from headcount.errors import DataError, HeadcountError, UnknownNameError, UsageError
from headcount.events.encode.column_types import whole_ids
from headcount.events.encode.text_columns import is_text, plain_type, value_type
from headcount.events.sources.files.formats import OPENERS, Opened, TextOptions, parquet_chunks, reading
from headcount.events.sources.spool import Spool

_MISSING = "__HIVE_DEFAULT_PARTITION__"
Stamp = tuple[int | None, int | None]
"""How large a file is, and when it was last written."""


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
        self.refuse_if_changed(self._first[1])
        wanted = {name: kind for name in columns if (kind := self.type_of(name)) is not None}
        for path in self.files:
            yield from self.batches_of(path, wanted)
        self.refuse_if_changed(self._first[1])

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

    def refuse_if_changed(self, stamps: Sequence[Stamp]) -> None:
        """Refuse files that are not as they were."""
        if self.stamps() != stamps:
            raise DataError(
                f"{self.name} changed while it was being read", remedy="wait until it is complete, then run again"
            )


def agreed_type(
    column: str, first: pa.DataType, here: pa.DataType, where: str, before: str, whole: bool = False
) -> pa.DataType:
    """Return the type of a column in two files; refuse types that differ.

    Writers declare the null type where no user has a value: all values of such a file are missing. They declare
    fractions where one user's value is missing, so a column of ``whole`` numbers may be of both.

    >>> agreed_type("item", pa.null(), pa.string(), "b.parquet", "a.parquet")
    DataType(string)
    """
    if pa.types.is_null(value_type(first)) or pa.types.is_null(value_type(here)):
        return here if pa.types.is_null(value_type(first)) else first
    if whole and {value_type(first), value_type(here)} == {pa.int64(), pa.float64()}:
        return pa.int64()
    if plain_type(here) != plain_type(first):
        before = "another" if where == before else before
        raise DataError(
            f"column {column!r} holds {plain_type(here)} in {where} but {plain_type(first)} in {before}",
            remedy="give the column the same type in all files",
        )
    return first


def type_in(opened: Opened, folder: dict[str, str | None], column: str) -> pa.DataType | None:
    """Return the type of a column in a file or in the names of its folders; None if neither has it."""
    if in_folder(opened, folder, column):
        return pa.string()
    return opened.type_of(column)


def in_folder(opened: Opened, folder: dict[str, str | None], column: str) -> bool:
    """Tell whether a folder says what a column holds; what a file itself declares comes first."""
    return column in folder and (opened.is_open or opened.type_of(column) is None)


def folder_columns(path: str) -> dict[str, str | None]:
    """Return what the folders of a path say; a value may hold an equals sign, and a key may not.

    >>> folder_columns("logs/year=2026/city=San%20Jos%C3%A9/part.csv")
    {'year': '2026', 'city': 'San José'}
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts[:-1]
    pairs = [part.partition("=") for part in parts if part.find("=") > 0]
    return {key: None if value == _MISSING else unquote(value) for key, _, value in pairs}


def with_folder_columns(
    batch: pa.RecordBatch, columns: dict[str, pa.DataType], folder: dict[str, str | None]
) -> pa.RecordBatch:
    """Return rows with all columns, in their types: those of folders, and those in which all is missing."""
    arrays = []
    for name, kind in columns.items():
        if name not in batch.schema.names:
            arrays.append(pa.repeat(pa.scalar(folder[name], pa.string()), batch.num_rows))
        elif pa.types.is_null(batch.column(name).type):
            arrays.append(pa.nulls(batch.num_rows, kind))
        else:
            arrays.append(whole_ids(batch.column(name)) if pa.types.is_int64(kind) else batch.column(name))
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


PART_ROWS = 1 << 22
"""How many rows make a part of a Parquet file, about."""


@dataclass(frozen=True)
class FilePart:
    """A file as it was when the log was described, or some row groups of it."""

    path: str
    stamp: Stamp
    groups: tuple[int, ...] | None = None


def parts_of(source: FileSource, rows: int = PART_ROWS) -> tuple[FilePart, ...]:
    """Return the parts of all files of a source; only Parquet is cut, after so many rows or more."""
    parts: list[FilePart] = []
    for path, stamp in zip(source.files, source.stamps(), strict=True):
        cut = source.row_groups(path) if source.format == "parquet" else []
        if not cut:
            parts.append(FilePart(path, stamp))
        held, size = [], 0
        for group, many in enumerate(cut):
            held.append(group)
            size += many
            if size >= rows or group == len(cut) - 1:
                parts.append(FilePart(path, stamp, tuple(held)))
                held, size = [], 0
    return tuple(parts)


def rows_of(source: FileSource, part: FilePart, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    """Read columns of a part; a file that changed since it was described is refused."""
    given = source.given or source.files
    alone = FileSource((part.path,), source.filesystem, source.format, source.text, given=given)
    alone.refuse_if_changed([part.stamp])
    yield from source.batches_of(part.path, dict(wanted), part.groups)
    alone.refuse_if_changed([part.stamp])
