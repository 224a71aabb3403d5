"""CSV reader: delimited text as text columns; an empty cell is null and a line is a row.

A cell in quotes may hold the delimiter, and a quote written twice. It does not go on after the end of its line: a
quote that is not closed there makes that one row say nothing, and so does a row with more or fewer cells than the
header has names. That is a rule about one line alone, so nobody's stray quote can swallow anybody else's rows. The
price is that line breaks inside quotes are not understood: such a log is better written as Parquet or JSON lines.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
from numpy.typing import NDArray

from headcount.errors import DataError, UsageError, param
from headcount.events.sources.files.kernels import split_csv
from headcount.events.sources.files.text_blocks import (
    as_array,
    blocks_of,
    first_line,
    parse_blocks,
    room_for,
    text_columns,
)

_MOST_COLUMNS = 100_000


def header_of(filesystem: pafs.FileSystem, path: str, encoding: str, delimiter: str, name: str) -> list[str]:
    """Return the names in the first line that is not blank; refuse those that are missing or stand there twice.

    An empty file has no names: the source refuses it where it has no other file.
    """
    line = first_line(filesystem, path, encoding).decode("utf-8")
    if not line:
        return []
    if line.startswith("{"):
        raise DataError(f"{name} begins like JSON lines, not with a header", remedy=f"say {param.format('jsonl')}")
    try:
        names = next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DataError(
            f"the header of {name} cannot be read ({error})", remedy="correct its first line"
        ) from error
    if "" in names:
        raise DataError(
            f"{name} has no name for column {names.index('') + 1}", remedy="name it in the header line"
        )
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise DataError(f"{name} has two columns named {twice!r}", remedy="rename one of them")
    return names


def column_numbers_of(filesystem: pafs.FileSystem, path: str, encoding: str, delimiter: str) -> list[str]:
    """Return the numbers of the columns that the first row has: for the curator's eyes only."""
    line = first_line(filesystem, path, encoding).decode("utf-8", "replace")
    return (
        [str(number + 1) for number in range(len(next(csv.reader([line], delimiter=delimiter))))] if line else []
    )


def numbered(name: str) -> pa.DataType:
    """Return the type of a column without a header, whose name is its number; refuse other names.

    >>> numbered("user")
    Traceback (most recent call last):
    headcount.errors.UsageError: with --no-header columns are called 1, 2, 3, …, not 'user'; give its number
    """
    if not (name.isascii() and name.isdigit() and name.lstrip("0") == name and int(name) <= _MOST_COLUMNS):
        raise UsageError(
            f"with {param.header(False)} columns are called 1, 2, 3, …", given=name, remedy="give its number"
        )
    return pa.string()


def rows_of(
    filesystem: pafs.FileSystem,
    path: str,
    encoding: str,
    delimiter: str,
    header: list[str] | None,
    columns: list[str],
) -> Iterator[pa.RecordBatch]:
    """Read columns of a file, by their names, or by their numbers where there is no header.

    Without a header nobody has said how many cells a row has: any that has all those that are read is one.
    """
    if not columns:
        return
    if header is None:
        places = [int(name) - 1 for name in columns]
        slots = np.full(max(places) + 1, -1, dtype=np.int32)
    else:
        places = [header.index(name) for name in columns]
        slots = np.full(len(header), -1, dtype=np.int32)
    slots[places] = np.arange(len(places))

    def parse(block: bytes) -> pa.RecordBatch:
        return _split(as_array(block), delimiter, slots, header is not None, columns)

    blocks = blocks_of(filesystem, path, encoding)
    yield from parse_blocks(blocks if header is None else _without_header(blocks), parse)


def _without_header(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Leave out the first line that is not blank."""
    for block in blocks:
        begin = len(block) - len(block.lstrip(b"\r\n\xef\xbb\xbf"))
        if begin < len(block):
            ends = [end for end in (block.find(b"\n", begin), block.find(b"\r", begin)) if end >= 0]
            yield block[min(ends) :] if ends else b""
            yield from blocks


def _split(
    data: NDArray[np.uint8], delimiter: str, slots: NDArray[np.int32], exact: bool, names: list[str]
) -> pa.RecordBatch:
    texts, ends = room_for(data.size, len(names), split_csv.ROOM)
    rows = int(split_csv.split(data, ord(delimiter), slots, exact, texts, ends))
    return text_columns(texts, ends, ends[:, 1 : rows + 1] > ends[:, :rows], names)
