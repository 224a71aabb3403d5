"""Readers of delimited text and JSON lines, row by row, with text columns alone.

A cell of delimited text in quotes may hold the delimiter, and a quote written twice. It ends with its line: a
quote that is not closed there makes that one row say nothing. So does a row with more or fewer cells than the
header has names. This rule is about one line alone, so no stray quote can swallow the rows of others. Line breaks
inside quotes are therefore not understood: such a log is better written as Parquet or JSON lines. An empty cell is
null.

A line of JSON holds one object. Numbers are kept as they are written, so ``7`` and ``"7"`` are the same id. Any
name is a column, because rows would have to say which ones there are. What is absent, null, a list or an object is
missing; a line that is not an object says nothing.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
from numpy.typing import NDArray

from headcount.errors import DataError, UsageError, param
from headcount.events.sources.files.kernels import split_csv
from headcount.events.sources.files.kernels.jsonl import split
from headcount.events.sources.files.text_blocks import (
    NEWLINE,
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


def csv_rows(
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
    places = [int(name) - 1 if header is None else header.index(name) for name in columns]
    slots = np.full(max(places) + 1 if header is None else len(header), -1, dtype=np.int32)
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


_LOOKED_AT = 1_000


def member_names_of(filesystem: pafs.FileSystem, path: str) -> list[str]:
    """Return the names that the first rows have, as they come up: for the curator's eyes only."""
    names: dict[str, None] = {}
    for block in blocks_of(filesystem, path, ends=NEWLINE):
        for line in block.split(b"\n")[:_LOOKED_AT]:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                names.update(dict.fromkeys(row))
        break
    return list(names)


def json_rows(filesystem: pafs.FileSystem, path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Read members of the objects in a file, by their names."""
    if not columns:
        return
    encoded = [name.encode() for name in columns]
    names = as_array(b"".join(encoded))
    name_ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)

    def parse(block: bytes) -> pa.RecordBatch:
        data = as_array(block)
        texts, ends = room_for(data.size, len(columns))
        there = np.empty((len(columns), ends.shape[1]), dtype=bool)
        scratch = np.empty(data.size, dtype=np.uint8)
        rows = int(split(data, names, name_ends, texts, ends, there, scratch))
        return text_columns(texts, ends, there[:, :rows], columns)

    yield from parse_blocks(blocks_of(filesystem, path, ends=NEWLINE), parse)
