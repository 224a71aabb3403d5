"""File formats: Parquet, delimited text, JSON lines and Arrow, each opened as columns and streamed batches.

Nothing is guessed: columns of delimited text are text, empty cells are missing, JSON keeps its own types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from headcount.errors import DataError, SurroundingsError, UsageError

BATCH_ROWS = 1 << 20
_DAMAGE = ("truncated", "decompress", "corrupt", "zlib", "deserialize", "unexpected end")

_FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".arrow": "arrow", ".feather": "arrow",
}  # fmt: skip


@dataclass(frozen=True)
class TextOptions:
    """How delimited text is written."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True


@dataclass(frozen=True)
class Opened:
    """An opened file: its columns, and a way to stream some of them."""

    schema: pa.Schema
    batches: Callable[[list[str]], Iterator[pa.RecordBatch]]
    metadata: Any = None


def known_format(path: str) -> str | None:
    """Return the format a file name says, if it says one."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(path.replace("\\", "/")).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst"):
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def format_of(path: str) -> str:
    """Return the format a file name says, or refuse it."""
    known = known_format(path)
    if known is None:
        raise UsageError(
            f"{path} has a file name that says no format",
            remedy="rename it to .parquet, .csv, .jsonl or .arrow",
        )
    return known


def plain_type(kind: pa.DataType) -> str:
    """Name a column type as a reader would: text is text, however it is stored."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return "text" if is_text(kind) else str(kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column type is text, in any of Arrow's layouts."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or (pa.types.is_dictionary(kind) and is_text(kind.value_type))
    )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn what goes wrong while reading a file into an error that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist", remedy="check the path") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, UnicodeDecodeError, EOFError) as error:
        reason = " ".join(str(error).split())[:300]
        raise DataError(
            f"{path} cannot be read ({reason})",
            remedy="check that the file is complete and of the format its name says",
        ) from error
    except OSError as error:
        damaged = any(word in str(error).lower() for word in _DAMAGE)
        kind = DataError if damaged else SurroundingsError
        raise kind(f"{path} cannot be read ({' '.join(str(error).split())[:300]})") from error


def _open_parquet(filesystem: pafs.FileSystem, path: str, _: TextOptions, text_as_codes: Sequence[str]) -> Opened:
    file = pq.ParquetFile(
        path,
        filesystem=filesystem,
        pre_buffer=False,
        memory_map=False,
        read_dictionary=list(text_as_codes) or None,
    )

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)

    return Opened(file.schema_arrow, batches, file.metadata)


def _open_csv(filesystem: pafs.FileSystem, path: str, text: TextOptions, _: Sequence[str]) -> Opened:
    from pyarrow import csv  # noqa: PLC0415

    delimiter = text.delimiter or ("\t" if ".tsv" in path else ",")
    parse = csv.ParseOptions(delimiter=delimiter)

    def open_reader(columns: list[str] | None, names: list[str] | None) -> Any:
        read = csv.ReadOptions(
            encoding=text.encoding,
            block_size=1 << 24,
            column_names=None if text.header else names,
            autogenerate_column_names=not text.header and names is None,
        )
        convert = csv.ConvertOptions(
            include_columns=columns,
            column_types={} if columns is None else dict.fromkeys(columns, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
        )
        stream = filesystem.open_input_stream(path, compression="detect")
        return csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert)

    with _first_block(path):
        names = list(open_reader(None, None).schema.names)
    if not text.header:
        names = [str(number) for number in range(1, len(names) + 1)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path} has two columns named {twice!r}", remedy="rename one of them")
    schema = pa.schema([(name, pa.string()) for name in names])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        if columns:
            yield from open_reader(columns, names)

    return Opened(schema, batches)


@contextmanager
def _first_block(path: str) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "Empty JSON" in str(error):
            raise DataError(f"{path} is empty", remedy="it needs at least a header line") from error
        raise


def _open_jsonl(filesystem: pafs.FileSystem, path: str, _: TextOptions, __: Sequence[str]) -> Opened:
    from pyarrow import json  # noqa: PLC0415

    def open_reader(schema: pa.Schema | None) -> Any:
        options = json.ParseOptions(explicit_schema=schema) if schema else None
        stream = filesystem.open_input_stream(path, compression="detect")
        return json.open_json(stream, json.ReadOptions(block_size=1 << 24), options)

    with _first_block(path):
        guessed = open_reader(None).schema
    # times written as text stay text: an id that looks like a date must not become one
    schema = pa.schema(
        [pa.field(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in guessed]
    )

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for batch in open_reader(schema):
            yield batch.select(columns)

    return Opened(schema, batches)


def _open_arrow(filesystem: pafs.FileSystem, path: str, _: TextOptions, __: Sequence[str]) -> Opened:
    def open_reader() -> tuple[pa.Schema, Callable[[], Iterator[pa.RecordBatch]]]:
        try:
            file = pa.ipc.open_file(filesystem.open_input_file(path))
            return file.schema, lambda: (file.get_batch(i) for i in range(file.num_record_batches))
        except pa.ArrowInvalid:
            stream = pa.ipc.open_stream(filesystem.open_input_stream(path))
            return stream.schema, lambda: iter(stream)

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        _, read = open_reader()
        for batch in read():
            yield batch.select(columns)

    return Opened(open_reader()[0], batches)


OPENERS = {"parquet": _open_parquet, "csv": _open_csv, "jsonl": _open_jsonl, "arrow": _open_arrow}
