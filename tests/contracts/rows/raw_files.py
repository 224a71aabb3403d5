"""Raw rows written in every file format that is read.

A row is what one person wrote, field by field, or a whole line of a text file. :func:`written` puts rows into a
file, or several, or an object in memory, row after row, without looking at what they say.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headcount.events.sources import source
from headcount.events.sources.files import formats, text_blocks
from tests.contracts.rows.hostile_values import Field, Line, Shape

COLUMNS = ("user", "item", "place", "when", "stars", "many", "age", "home")
NUMBERS = ("stars", "many", "age")
TYPES: Mapping[str, pa.DataType] = {
    "user": pa.int64(), "item": pa.string(), "place": pa.string(), "when": pa.timestamp("us"),
    "stars": pa.float64(), "many": pa.int64(), "age": pa.int64(), "home": pa.int64(),
}  # fmt: skip
"""The types of columns where these are declared."""


@dataclass(frozen=True)
class Row:
    """What one person wrote: plain text is an ordinary field; ``line`` makes another line of a text file's own."""

    cells: Mapping[str, str | Field]
    line: Line | None = None
    looked_at: str = "item"


@dataclass(frozen=True)
class Format:
    """How rows are written, and with which options they are read again."""

    name: str
    shape: Shape
    write: Callable[[Format, Path, Sequence[Row], bool], Any]
    ending: str = ""
    delimiter: str = ","
    encoding: str = "utf-8"
    newline: bytes = b"\n"
    header: bool = True
    quoted: bool = False
    parts: int = 1
    last_newline: bool = True
    packs: bool = False
    group_rows: int | None = None  # in a row group or batch of a file or table
    table: str | None = None
    query: str | None = None
    text_type: pa.DataType = field(default_factory=pa.string)

    @property
    def options(self) -> dict[str, Any]:
        """What must be said to read it."""
        if self.shape != "csv":
            sources = {"table": self.table, "query": self.query}
            return {name: value for name, value in sources.items() if value is not None}
        other = {} if self.delimiter == "," else {"delimiter": self.delimiter}
        other |= {} if self.encoding == "utf-8" else {"encoding": self.encoding}
        return other | ({} if self.header else {"header": False})

    def column(self, name: str) -> str:
        """Return what a column is called there."""
        return name if self.header else str(COLUMNS.index(name) + 1)


def written(kind: Format, folder: Path, rows: Sequence[Row], *, one_by_one: bool = False) -> Any:
    """Write rows, and return what ``headcount.read_events`` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    return kind.write(kind, folder, rows, one_by_one)


def split(rows: Sequence[Row], parts: int) -> Iterator[Sequence[Row]]:
    """Yield rows in parts, one after the other."""
    size = -(-len(rows) // parts)
    for part in range(parts):
        yield rows[part * size : (part + 1) * size]


# Text files


def _csv_cell(kind: Format, content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    if content is None:
        return b""
    cell = str(content).encode(kind.encoding, "replace")
    if kind.quoted or any(character in cell for character in (kind.delimiter.encode(), b'"', b"\n", b"\r")):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def _json_cell(content: object, *, ordinary: bool) -> bytes:
    if isinstance(content, bytes):
        return content
    number = ordinary and re.fullmatch(r"\d+", str(content))
    return (str(content) if number else json.dumps(content, ensure_ascii=False)).encode()


def line_of(kind: Format, row: Row) -> bytes:
    """Return a row as a line, with its end."""
    cells = {
        name: content.spellings[kind.shape] if isinstance(content, Field) else content
        for name, content in row.cells.items()
    }
    if kind.shape == "csv":
        line = kind.delimiter.encode().join(_csv_cell(kind, cells[name]) for name in COLUMNS)
    else:
        plain = {name: not isinstance(row.cells[name], Field) for name in COLUMNS}
        pairs = (b'"%s": %s' % (name.encode(), _json_cell(cells[name], ordinary=plain[name])) for name in COLUMNS)
        line = b"{" + b", ".join(pairs) + b"}"
    return (line if row.line is None else row.line(line, row.looked_at)) + kind.newline


def _write_lines(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    paths = []
    first = b""
    if kind.shape == "csv" and kind.header:
        first = kind.delimiter.encode().join(_csv_cell(kind, name) for name in COLUMNS) + kind.newline
    for number, part in enumerate(split(rows, kind.parts)):
        data = first + b"".join(line_of(kind, row) for row in part)
        if not kind.last_newline:
            data = data.removesuffix(kind.newline)
        path = folder / f"part{number}{kind.ending}"
        path.write_bytes(gzip.compress(data, 1) if kind.ending.endswith(".gz") else data)
        paths.append(str(path))
    return paths


# Arrow


def text_column(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Return texts as a column; bytes are laid down as they are, be they UTF-8 or not."""
    data = [None if cell is None else cell if isinstance(cell, bytes) else str(cell).encode() for cell in values]
    ends = np.cumsum([0, *(0 if cell is None else len(cell) for cell in data)]).astype(np.int32)
    there = np.packbits(np.array([cell is not None for cell in data], dtype=bool), bitorder="little")
    buffers = [
        pa.py_buffer(there.tobytes()),
        pa.py_buffer(ends.tobytes()),
        pa.py_buffer(b"".join(filter(None, data))),
    ]
    plain = pa.Array.from_buffers(pa.string(), len(data), buffers)
    if pa.types.is_dictionary(kind):
        return plain.dictionary_encode()
    return plain if kind == plain.type else plain.cast(kind)


def table_of(kind: Format, rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table of texts, or of declared types."""
    columns = {}
    for name in COLUMNS:
        contents = [row.cells[name] for row in rows]
        if kind.shape == "typed":
            values = [
                cell.spellings["typed"] if isinstance(cell, Field) else _typed(name, cell) for cell in contents
            ]
            columns[name] = pa.array(values, pa.int64() if name == "when" else TYPES[name]).cast(TYPES[name])
        else:
            values = [cell.spellings["arrow"] if isinstance(cell, Field) else cell for cell in contents]
            columns[name] = text_column(values, kind.text_type)
    return pa.table(columns)


def _typed(name: str, content: str) -> object:
    if name == "when":
        return int(np.datetime64(content, "us").astype(np.int64))
    if name in ("user", "home"):
        return int.from_bytes(content.encode(), "big")
    if name not in NUMBERS:
        return content
    plain = content.replace(".", "").replace(",", ".")  # no ordinary number has a decimal point
    return float(plain) if name == "stars" else int(plain.partition(".")[0])


def _write_parquet(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    paths = []
    for number, part in enumerate(split(rows, kind.parts)):
        path = folder / f"part{number}.parquet"
        pq.write_table(table_of(kind, part), path, row_group_size=1 if one_by_one else kind.group_rows)
        paths.append(str(path))
    return paths


def _write_arrow(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    path, table = folder / f"events{kind.ending}", table_of(kind, rows)
    open_writer = pa.ipc.new_stream if kind.name.endswith("stream") else pa.ipc.new_file
    with open_writer(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1 if one_by_one else kind.group_rows)
    return str(path)


def _in_memory(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    table, size = table_of(kind, rows), 1 if one_by_one else kind.group_rows
    return table if size is None else pa.Table.from_batches(table.to_batches(max_chunksize=size), table.schema)


def _as_polars(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    import polars as pl

    frame = pl.from_arrow(table_of(kind, rows))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _as_pandas(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    import pandas as pd

    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for row in rows:
        for name, content in row.cells.items():
            plain = int(str(content)) if name in NUMBERS and str(content).isdigit() else content
            columns[name].append(content.spellings["python"] if isinstance(content, Field) else plain)
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def _in_a_database(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    from tests.contracts.rows import raw_databases

    return raw_databases.WRITERS[kind.name.split()[0]](folder, table_of(kind, rows))


_CODES = pa.dictionary(pa.int32(), pa.string())
FORMATS: Mapping[str, Format] = {
    kind.name: kind
    for kind in (
        Format("csv", "csv", _write_lines, ".csv"),
        Format("csv quoted", "csv", _write_lines, ".csv", quoted=True),
        Format("csv semicolon", "csv", _write_lines, ".csv", delimiter=";"),
        Format("csv crlf", "csv", _write_lines, ".csv", newline=b"\r\n"),
        Format("csv headerless", "csv", _write_lines, ".csv", header=False),
        Format("csv latin-1", "csv", _write_lines, ".csv", encoding="latin-1"),
        Format("csv open end", "csv", _write_lines, ".csv", last_newline=False),
        Format("csv gzip", "csv", _write_lines, ".csv.gz"),
        Format("csv files", "csv", _write_lines, ".csv", parts=3),
        Format("csv store", "csv", _write_lines, ".csv", packs=True),
        Format("jsonl", "json", _write_lines, ".jsonl"),
        Format("jsonl gzip", "json", _write_lines, ".jsonl.gz"),
        Format("jsonl files", "json", _write_lines, ".jsonl", parts=3),
        Format("jsonl store", "json", _write_lines, ".jsonl", packs=True),
        Format("parquet text", "arrow", _write_parquet),
        Format("parquet codes", "arrow", _write_parquet, text_type=_CODES),
        Format("parquet row groups", "arrow", _write_parquet, group_rows=1),
        Format("parquet files", "arrow", _write_parquet, parts=3),
        Format("parquet store", "arrow", _write_parquet, packs=True),
        Format("parquet typed", "typed", _write_parquet),
        Format("arrow file", "arrow", _write_arrow, ".arrow"),
        Format("arrow stream", "arrow", _write_arrow, ".arrows"),
        Format("arrow typed file", "typed", _write_arrow, ".arrow"),
        Format("table", "arrow", _in_memory),
        Format("table of codes", "arrow", _in_memory, text_type=_CODES),
        Format("table of large text", "arrow", _in_memory, text_type=pa.large_string()),
        Format("polars", "arrow", _as_polars),
        Format("pandas objects", "python", _as_pandas),
        Format("duckdb", "arrow", _in_a_database, table="events"),
        Format("duckdb typed", "typed", _in_a_database, table="events"),
        Format("duckdb view", "arrow", _in_a_database, table="seen"),
        Format("sqlite", "arrow", _in_a_database, table="events"),
        Format("sqlite view", "arrow", _in_a_database, table="seen"),
        Format("postgresql", "arrow", _in_a_database, table="events"),
    )
}


@contextmanager
def small_batches(rows: int = 1, text: int = 160) -> Iterator[None]:
    """Read so many rows, or bytes of text, at a time; a hostile line may be longer than that."""
    with ExitStack() as stack:
        for module in (formats, source):
            stack.enter_context(mock.patch.object(module, "BATCH_ROWS", rows))
        stack.enter_context(mock.patch.object(text_blocks, "BLOCK_BYTES", text))
        yield
