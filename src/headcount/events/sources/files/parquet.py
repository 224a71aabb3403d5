"""Parquet reader whose batch memory is bounded by file sizes and not by lengths of texts.

A user's texts compress well where they repeat: a dictionary entry of a megabyte costs a few bytes more for each
row that refers to it. So the batches of a row group have fewer rows where rows are wide, and Headcount reads a
column as codes where its dictionary holds texts that are too long. No result depends on batches.

One page is still read whole, and so is one row group of a column that is read as codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from headcount.events.encode.text_columns import MAX_TEXT_BYTES, sizes
from headcount.events.sources.files import formats

BATCH_BYTES = 1 << 26
_MANY_ROWS = 1 << 25  # with fewer, batches of half the size take as long and less memory
_PEEK_BYTES = 1 << 16


def open_parquet(filesystem: pafs.FileSystem, path: str, name: str, texts: Sequence[str]) -> formats.Opened:
    """Open a file; some of its columns are read as text."""
    open_file = partial(pq.ParquetFile, path, filesystem=filesystem, pre_buffer=False, memory_map=False)
    plain = open_file()
    schema, metadata = plain.schema_arrow, plain.metadata
    chunks = {
        column: chunks_of_column
        for column in texts
        if (chunks_of_column := formats.parquet_chunks(metadata, column))
    }
    # Arrow casts a column that declares codes unless it reads codes, and that fails on a text that is not UTF-8.
    declared = {field.name for field in schema if pa.types.is_dictionary(field.type)}
    coded = frozenset(column for column in chunks if column in declared or _are_coded(chunks[column]))

    def batches(columns: list[str], groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        entries = open_file(metadata=metadata, read_dictionary=list(chunks), buffer_size=_PEEK_BYTES)

        def layout(group: int) -> tuple[int, frozenset[str]]:
            """Return how many rows of a row group make a batch, and which columns are read as codes."""
            width, as_codes = 0, coded
            for column in chunks.keys() & {*columns} - coded:
                longest = _longest_entry(entries, column, group, chunks[column][group])
                as_codes |= {column} if longest > MAX_TEXT_BYTES else set()
                size = chunks[column][group].total_uncompressed_size // max(1, metadata.row_group(group).num_rows)
                width += max(longest, size) if column not in as_codes else 0
            rows = formats.BATCH_ROWS if metadata.num_rows >= _MANY_ROWS else -(-formats.BATCH_ROWS // 2)
            while rows > 1 and rows * width > BATCH_BYTES:
                rows //= 2
            return rows, as_codes

        opened = {frozenset[str](): plain}
        of_all = range(metadata.num_row_groups) if groups is None else groups
        for (rows, as_codes), run in itertools.groupby(of_all, layout):
            if as_codes not in opened:
                opened[as_codes] = open_file(metadata=metadata, read_dictionary=list(as_codes))
            yield from opened[as_codes].iter_batches(batch_size=rows, columns=columns, row_groups=list(run))

    return formats.Opened(formats.declared(schema, name), lambda: schema.names, batches, metadata=metadata)


def _are_coded(chunks: Sequence[Any]) -> bool:
    """Whether a text column is stored as codes throughout, going by its size.

    Writers fall back to plain text when there are too many distinct values; reading that as codes would make
    Arrow look every text up once more.
    """
    size, values = 0, 0
    for chunk in chunks:
        if not chunk.has_dictionary_page:
            return False
        size, values = size + chunk.total_uncompressed_size, values + chunk.num_values
    return size < 8 * values


def _longest_entry(entries: Any, column: str, group: int, chunk: Any) -> int:
    """Return how many bytes the longest text has that several rows can share; the first row comes with all."""
    if not chunk.has_dictionary_page or chunk.num_values * chunk.total_uncompressed_size <= BATCH_BYTES:
        return 0
    first = next(entries.iter_batches(batch_size=1, columns=[column], row_groups=[group]))
    return int(sizes(first.column(0).dictionary).max(initial=0))
