"""File parts: whole files or Parquet row groups that a worker reads separately and repeatedly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from headcount.errors import DataError
from headcount.events.sources.source import FileSource, Stamp

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
    _refuse_changed(alone, part)
    yield from source.batches_of(part.path, dict(wanted), part.groups)
    _refuse_changed(alone, part)


def _refuse_changed(alone: FileSource, part: FilePart) -> None:
    if alone.stamps() != [part.stamp]:
        raise DataError(
            f"{alone.name} changed while it was being read", remedy="wait until it is complete, then run again"
        )
