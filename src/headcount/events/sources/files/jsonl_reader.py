"""JSON-lines reader: one object per line, members as text columns, numbers kept as written.

So ``7`` and ``"7"`` are the same id, and no row decides what another one's values are. Any name is a column: which
ones there are would be for rows to say. What is absent, null, a list or an object is missing; a line that is not
an object says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from headcount.events.sources.files.kernels.jsonl import split
from headcount.events.sources.files.text_blocks import (
    NEWLINE,
    as_array,
    blocks_of,
    parse_blocks,
    room_for,
    text_columns,
)

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


def rows_of(filesystem: pafs.FileSystem, path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
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
