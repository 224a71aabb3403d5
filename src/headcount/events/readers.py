"""Sources: files and Arrow objects, read as streams of record batches, as often as needed.

A source knows its columns without reading rows. It can be read again and again: what can be read only once
(standard input, an Arrow stream) is spooled to a private temporary file first, and a file that changes between
two passes is refused, since a bound worked out on one version must not be applied to another.
"""

from __future__ import annotations

import glob
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from headcount.errors import DataError, UnknownNameError, UsageError
from headcount.events.formats import (
    BATCH_ROWS,
    OPENERS,
    Opened,
    TextOptions,
    format_of,
    is_text,
    known_format,
    plain_type,
    reading,
)


class Source(Protocol):
    """Rows to be read in passes."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    @property
    def schema(self) -> pa.Schema:
        """Column names and types, known without reading rows."""

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

    table: pa.Table
    name: str = "the table"

    @property
    def schema(self) -> pa.Schema:
        """The table's own schema."""
        return self.table.schema

    @property
    def rows(self) -> int | None:
        """The number of rows."""
        return int(self.table.num_rows)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Look at the column."""
        import pyarrow.compute as pc  # noqa: PLC0415

        extremes = pc.min_max(self.table[column]).as_py()
        return None if extremes["min"] is None else (extremes["min"], extremes["max"])


@dataclass(frozen=True)
class FileSource:
    """One or more files of one format; ``key=value`` folders on their paths become text columns."""

    files: tuple[str, ...]
    filesystem: pafs.FileSystem = field(repr=False)
    format: str
    text: TextOptions = TextOptions()
    keep: Any = field(default=None, repr=False, compare=False)  # holds a spool alive
    _state: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The file, or the first of several."""
        first = self.files[0] if self.keep is None else "standard input"
        return first if len(self.files) == 1 else f"{first} (and {len(self.files) - 1} more)"

    @property
    def schema(self) -> pa.Schema:
        """The schema of the first file, with the columns of its folders."""
        if "schema" not in self._state:
            self._state["stamps"] = self._stamps()
            schema = self._open(self.files[0]).schema
            for key in _folder_columns(self.files[0]):
                if key not in schema.names:
                    schema = schema.append(pa.field(key, pa.string()))
            self._state["schema"] = schema
        return self._state["schema"]

    @property
    def rows(self) -> int | None:
        """The number of rows, from the Parquet footers."""
        if self.format != "parquet":
            return None
        if "rows" not in self._state:
            self._state["rows"] = sum(self._open(path).metadata.num_rows for path in self.files)
        rows: int = self._state["rows"]
        return rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns of every file in turn."""
        self._refuse_if_changed()
        wanted = {name: self.schema.field(name).type for name in columns}
        for path in self.files:
            folder = _folder_columns(path)
            with reading(path):
                opened = self._open(
                    path, text_as_codes=[n for n in columns if n not in folder and is_text(wanted[n])]
                )
                stored = [name for name in columns if name in opened.schema.names]
                missing = [name for name in columns if name not in stored and name not in folder]
                if missing:
                    raise UnknownNameError.among("column", missing[0], opened.schema.names, where=path)
                for batch in opened.batches(stored):
                    yield _with_folder_columns(batch, columns, folder, wanted, path)
        self._refuse_if_changed()

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Look at the statistics in the Parquet footers."""
        if self.format != "parquet" or any(column in _folder_columns(path) for path in self.files):
            return None
        lows, highs = [], []
        for path in self.files:
            metadata = self._open(path).metadata
            index = next(
                (i for i in range(metadata.num_columns) if metadata.schema.column(i).path == column), None
            )
            if index is None:
                return None
            for group in range(metadata.num_row_groups):
                statistics = metadata.row_group(group).column(index).statistics
                if statistics is None or not statistics.has_min_max:
                    return None
                lows.append(int(statistics.min))
                highs.append(int(statistics.max))
        return (min(lows), max(highs)) if lows else None

    def _open(self, path: str, text_as_codes: Sequence[str] = ()) -> Opened:
        with reading(path):
            return OPENERS[self.format](self.filesystem, path, self.text, text_as_codes)

    def _stamps(self) -> list[tuple[int | None, int | None]]:
        with reading(self.name):
            infos = self.filesystem.get_file_info(list(self.files))
        for info in infos:
            if info.type == pafs.FileType.NotFound:
                raise DataError(f"{info.path} does not exist", remedy="check the path")
        return [(info.size, info.mtime_ns) for info in infos]

    def _refuse_if_changed(self) -> None:
        _ = self.schema
        if self._stamps() != self._state["stamps"]:
            raise DataError(
                f"{self.name} changed while it was being read",
                remedy="wait until it is complete, then run again",
            )


def open_source(events: Any, text: TextOptions = TextOptions()) -> Source:  # noqa: B008
    """Open paths, globs, folders, URIs, ``-``, or any object with the Arrow C stream interface."""
    if isinstance(events, TableSource | FileSource):
        return events
    if isinstance(events, pa.Table):
        return TableSource(events)
    if isinstance(events, pa.RecordBatch):
        return TableSource(pa.Table.from_batches([events]))
    if isinstance(events, str | os.PathLike):
        return _open_paths([os.fspath(events)], text)
    if hasattr(events, "__arrow_c_stream__"):
        if type(events).__module__.split(".")[0] in ("pandas", "polars"):  # in memory already
            return TableSource(pa.table(events))
        return _spool_stream(pa.RecordBatchReader.from_stream(events))
    if isinstance(events, Sequence) and events and all(isinstance(e, str | os.PathLike) for e in events):
        return _open_paths([os.fspath(each) for each in events], text)
    raise UsageError(
        f"events must be a path, several paths, or an Arrow object, not {type(events).__name__}",
        remedy="pass a Parquet, CSV, JSON lines or Arrow file, or a pyarrow, pandas or Polars table",
    )


def _open_paths(paths: Sequence[str], text: TextOptions) -> FileSource:
    if "-" in paths:
        if len(paths) > 1:
            raise UsageError("'-' (standard input) cannot be mixed with files", given=list(paths))
        return _spool_input(text)
    filesystem: pafs.FileSystem = pafs.LocalFileSystem()
    files: list[str] = []
    for path in paths:
        if "://" in path:
            filesystem, path = _from_uri(path)  # noqa: PLW2901
            files.extend(_inside(filesystem, path))
        else:
            files.extend(_local_files(path))
    formats = {format_of(path) for path in files}
    if len(formats) > 1:
        raise UsageError(f"the files are of several formats: {', '.join(sorted(formats))}", remedy="give one")
    return FileSource(tuple(files), filesystem, formats.pop(), text)


def _from_uri(uri: str) -> tuple[pafs.FileSystem, str]:
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
    except (pa.ArrowException, ValueError) as error:
        raise UsageError(f"{uri} cannot be opened ({error})", remedy="check the address") from error
    return filesystem, path


def _local_files(path: str) -> list[str]:
    if os.path.isdir(path):
        return _inside(pafs.LocalFileSystem(), path)
    if not os.path.exists(path):
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise DataError(f"{path} does not exist", remedy="check the path")
        return [each for match in found for each in _local_files(match)]
    return [path]


def _inside(filesystem: pafs.FileSystem, path: str) -> list[str]:
    with reading(path):
        info = filesystem.get_file_info(path)
        if info.type != pafs.FileType.Directory:
            return [path]
        listing = filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
    files = sorted(
        each.path
        for each in listing
        if each.type == pafs.FileType.File
        and known_format(each.path)
        and not each.base_name.startswith((".", "_"))
    )
    if not files:
        raise DataError(f"{path} holds no event files", remedy="files end in .parquet, .csv, .jsonl or .arrow")
    return files


def _folder_columns(path: str) -> dict[str, str]:
    parts = PurePosixPath(path.replace("\\", "/")).parts[:-1]
    return dict(part.split("=", 1) for part in parts if part.count("=") == 1 and not part.startswith("="))


def _with_folder_columns(
    batch: pa.RecordBatch, columns: Sequence[str], folder: dict[str, str], wanted: dict[str, Any], path: str
) -> pa.RecordBatch:
    arrays = []
    for name in columns:
        if name in batch.schema.names:
            column = batch.column(name)
            if plain_type(column.type) != plain_type(wanted[name]):
                raise DataError(
                    f"column {name!r} holds {plain_type(column.type)} in {path} and {plain_type(wanted[name])} before",
                    remedy="give all files the same type",
                )
        else:
            column = pa.repeat(pa.scalar(folder[name]), batch.num_rows)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _spool_input(text: TextOptions) -> FileSource:
    """Copy standard input to a private temporary file; its first bytes say what it is."""
    folder = tempfile.TemporaryDirectory(prefix="headcount-")
    raw = Path(folder.name) / "input"
    with raw.open("wb") as out:
        while chunk := sys.stdin.buffer.read(1 << 20):
            out.write(chunk)
    with raw.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"PAR1"):
        suffix = ".parquet"
    elif start.startswith(b"ARROW1") or start.startswith(b"\xff\xff\xff\xff"):
        suffix = ".arrow"
    else:
        suffix = ".jsonl" if start.lstrip().startswith(b"{") else ".csv"
    if start.startswith(b"\x1f\x8b"):
        suffix = ".csv.gz"
    path = raw.rename(raw.with_suffix(suffix))
    return FileSource((str(path),), pafs.LocalFileSystem(), format_of(str(path)), text, keep=folder)


def _spool_stream(reader: Any) -> FileSource:
    """Write an Arrow stream, which can be read only once, to a private temporary file."""
    folder = tempfile.TemporaryDirectory(prefix="headcount-")
    path = str(Path(folder.name) / "stream.arrow")
    with pa.OSFile(path, "wb") as out, pa.ipc.new_file(out, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return FileSource((path,), pafs.LocalFileSystem(), "arrow", keep=folder)
