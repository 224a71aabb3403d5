"""File formats: Parquet, delimited text, JSON lines and Arrow, each opened as columns and streamed batches.

Nothing is guessed: columns of delimited text are text, empty cells are missing, JSON keeps its own types, and
JSON text that looks like a date stays text.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError

BATCH_ROWS = 1 << 19
_BLOCK_BYTES = 1 << 24
_SURROUNDINGS = (ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM)
_DAMAGE = ("truncated", "decompress", "corrupt", "zlib", "deserialize", "unexpected end")
_REFUSALS = (pa.ArrowException, ValueError, LookupError, EOFError, ArithmeticError, MemoryError)
_REMEDY = "check that the file is complete and of the format its name says"
_ENCODING_REMEDY = "if the text is not in this encoding, name the right one with --encoding"

_FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow",
}  # fmt: skip


@dataclass(frozen=True)
class TextOptions:
    r"""How delimited text is written; a delimiter of ``\t``, as shells pass it, is a tab.

    >>> TextOptions(delimiter="::")
    Traceback (most recent call last):
    headcount.errors.UsageError: --delimiter must be one ASCII character, not '::'; such as ';' or '\t'
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True

    def __post_init__(self) -> None:
        if self.delimiter == "\\t":
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '\r\n"\0'
        ):
            raise UsageError(
                "--delimiter must be one ASCII character", given=self.delimiter, remedy=r"such as ';' or '\t'"
            )
        try:
            text_encoding = codecs.lookup(self.encoding)._is_text_encoding
        except (LookupError, ValueError, AttributeError):
            text_encoding = False
        if not text_encoding:
            raise UsageError("unknown --encoding", given=self.encoding, remedy="such as utf-8 or latin-1")

    @property
    def given(self) -> str | None:
        """The first flag that differs from its default, for those who cannot use it."""
        flags = {"--delimiter": self.delimiter, "--encoding": codecs.lookup(self.encoding).name != "utf-8"}
        return next((flag for flag, value in (flags | {"--no-header": not self.header}).items() if value), None)


@dataclass(frozen=True)
class Opened:
    """An opened file: its columns (none at all if an empty file does not name them), and a way to stream some."""

    schema: pa.Schema
    batches: Callable[[list[str]], Iterator[pa.RecordBatch]]
    metadata: Any = None


def known_format(path: str) -> str | None:
    """Return the format a file name says, if it says one.

    >>> known_format("visits.CSV.gz"), known_format("visits.xlsx")
    ('csv', None)
    """
    return _FORMATS.get(_ending(path))


def _ending(path: str) -> str:
    suffixes = [suffix.lower() for suffix in PurePosixPath(path.replace("\\", "/")).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


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
    kind = value_type(kind)
    return "text" if is_text(kind) else str(kind)


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column, dictionary-encoded or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether a column type is text, in any of Arrow's layouts."""
    kind = value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@contextmanager
def reading(name: str, *, remote: bool = False) -> Iterator[None]:
    """Turn whatever goes wrong while reading into an error that names what was read.

    What a damaged or wrong file can cause is the caller's to mend; a full or failing disk, or a remote store
    that does not answer, is not.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{name} does not exist", remedy="check the path") from error
    except OSError as error:
        damaged = any(word in str(error).lower() for word in _DAMAGE)
        failed = error.errno in _SURROUNDINGS or (remote and not damaged)
        kind: type[HeadcountError] = SurroundingsError if failed else DataError
        denied = isinstance(error, PermissionError)
        remedy = "ask for the right to read it" if denied else None if failed else _REMEDY
        raise kind(f"{name} cannot be read ({_reason(error)})", remedy=remedy) from error
    except _REFUSALS as error:
        text = isinstance(error, UnicodeError) or "invalid UTF8" in str(error)
        raise DataError(
            f"{name} cannot be read ({_reason(error)})", remedy=_ENCODING_REMEDY if text else _REMEDY
        ) from error


def _reason(error: BaseException) -> str:
    """Return what a library said, on one line and not too long."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} is not {error.encoding} text"
    words = " ".join(" ".join(str(part) for part in error.args).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:199] + "…"


def _open_parquet(filesystem: pafs.FileSystem, path: str, _: TextOptions, text_as_codes: Sequence[str]) -> Opened:
    file = pq.ParquetFile(path, filesystem=filesystem, pre_buffer=False, memory_map=False)
    coded = [name for name in text_as_codes if _is_coded(file.metadata, name)]
    if coded:
        file = pq.ParquetFile(
            path, filesystem=filesystem, pre_buffer=False, memory_map=False, read_dictionary=coded,
            metadata=file.metadata,
        )  # fmt: skip

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)

    return Opened(file.schema_arrow, batches, file.metadata)


def _is_coded(metadata: Any, name: str) -> bool:
    """Whether a Parquet text column is stored as codes throughout, going by its size.

    Writers fall back to plain text when there are too many distinct values; reading that as codes would make
    Arrow look every text up once more.
    """
    size, values = 0, 0
    for chunk in parquet_chunks(metadata, name):
        if not chunk.has_dictionary_page:
            return False
        size, values = size + chunk.total_uncompressed_size, values + chunk.num_values
    return size < 8 * values


def parquet_chunks(metadata: Any, name: str) -> list[Any]:
    """Return the metadata of a column in every row group; nothing if there is no such plain column."""
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    if name not in paths:
        return []
    index = paths.index(name)
    return [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]


def _open_csv(filesystem: pafs.FileSystem, path: str, text: TextOptions, _: Sequence[str]) -> Opened:
    from pyarrow import csv

    delimiter = text.delimiter or ("\t" if _ending(path) == ".tsv" else ",")
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)

    def open_reader(columns: list[str]) -> Any:
        read = csv.ReadOptions(
            encoding=text.encoding,
            block_size=_BLOCK_BYTES,
            column_names=None if text.header else names,
        )
        convert = csv.ConvertOptions(
            include_columns=columns,
            column_types=dict.fromkeys(columns, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
        )
        stream = filesystem.open_input_stream(path, compression="detect")
        return csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert)

    first = _first_row(filesystem, path, text.encoding, delimiter)
    if not first and text.header:
        raise DataError(f"{path} is empty", remedy="it needs at least a header line")
    names = first if text.header else [str(number) for number in range(1, len(first) + 1)]
    if "" in names:
        raise DataError(
            f"{path} has no name for column {names.index('') + 1}", remedy="name it in the header line"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path} has two columns named {twice!r}", remedy="rename one of them")

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        if not columns:
            return
        with _nothing("Empty CSV"):
            yield from open_reader(columns)

    return Opened(pa.schema([(name, pa.string()) for name in names]), batches)


def _first_row(filesystem: pafs.FileSystem, path: str, encoding: str, delimiter: str) -> list[str]:
    """Return the cells of the first line that is not blank; none if there is no such line.

    Of what comes after it nothing is told, not even whether it is text: that is for those who read events.
    """
    try:
        return _first_row_as(filesystem, path, encoding, delimiter, "strict")
    except UnicodeDecodeError:
        first = _first_row_as(filesystem, path, encoding, delimiter, "replace")
        if any("\N{REPLACEMENT CHARACTER}" in cell for cell in first):
            raise
        return first


def _first_row_as(filesystem: pafs.FileSystem, path: str, encoding: str, delimiter: str, errors: str) -> list[str]:
    import csv
    import io

    with filesystem.open_input_stream(path, compression="detect") as stream:
        lines = io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="")
        rows = csv.reader(lines, delimiter=delimiter)
        try:
            first = next((row for row in rows if row), [])
        except csv.Error as error:
            raise DataError(f"the first line of {path} cannot be read ({error})", remedy=_REMEDY) from error
    if first:
        first[0] = first[0].removeprefix("\ufeff")
    return first


@contextmanager
def _nothing(words: str) -> Iterator[None]:
    """Let a reader that refuses empty files find nothing."""
    try:
        yield
    except pa.ArrowInvalid as error:
        if words not in str(error):
            raise


def _open_jsonl(filesystem: pafs.FileSystem, path: str, _: TextOptions, __: Sequence[str]) -> Opened:
    from pyarrow import json

    def open_reader(schema: pa.Schema | None) -> Any:
        options = json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
        )
        stream = filesystem.open_input_stream(path, compression="detect")
        return json.open_json(stream, json.ReadOptions(block_size=_BLOCK_BYTES), options)

    guessed = pa.schema([])
    with _nothing("Empty JSON"):
        guessed = open_reader(None).schema
    schema = pa.schema([pa.field(each.name, _json_type(each.type)) for each in guessed])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        if not columns:
            return
        wanted = pa.schema([schema.field(name) for name in columns])
        with _nothing("Empty JSON"):
            for batch in open_reader(wanted):
                yield batch.select(columns)

    return Opened(schema, batches)


def _json_type(kind: pa.DataType) -> pa.DataType:
    """Keep times written as text, and what is always missing, as text: an id must not become a date."""
    return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_null(kind) else kind


def _open_arrow(filesystem: pafs.FileSystem, path: str, _: TextOptions, __: Sequence[str]) -> Opened:
    with filesystem.open_input_stream(path, compression=None) as stream:
        is_file = stream.read(6) == b"ARROW1"

    def open_reader() -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        if is_file:
            file = pa.ipc.open_file(filesystem.open_input_file(path))
            return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))
        stream = pa.ipc.open_stream(filesystem.open_input_stream(path))
        return stream.schema, iter(stream)

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for batch in open_reader()[1]:
            chosen = batch.select(columns)
            chosen.validate(full=True)  # Arrow files are taken as they are; a damaged one must not be
            yield chosen

    return Opened(open_reader()[0], batches)


OPENERS = {"parquet": _open_parquet, "csv": _open_csv, "jsonl": _open_jsonl, "arrow": _open_arrow}
