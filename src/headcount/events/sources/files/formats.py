"""File formats: Parquet, CSV, JSON lines and Arrow IPC, each opened as typed columns and read in batches.

A column has the type that the file declares (Parquet, Arrow), or is text (delimited text, JSON lines). No row
decides it.

The memory for a batch of Parquet is bounded by the file's size, not by lengths of texts. A user's texts compress
well where they repeat: a dictionary entry of a megabyte costs a few bytes for each row that refers to it. So the
batches of a row group have fewer rows where rows are wide, and Headcount reads a column as codes where its
dictionary holds texts that are too long. One page is still read whole, and so is one row group of a column that is
read as codes. No result depends on batches.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from headcount.errors import DataError, HeadcountError, Parameter, SurroundingsError, UsageError, param
from headcount.events.encode.text_columns import MAX_TEXT_BYTES, as_bytes, sizes, sound_codes
from headcount.events.sources.files.text_blocks import unit_of

BATCH_ROWS = 1 << 19
BATCH_BYTES = 1 << 26
_MANY_ROWS = 1 << 25  # with fewer, batches of half the size take as long and less memory
_PEEK_BYTES = 1 << 16
_SURROUNDINGS = (ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM)
_DAMAGE = ("truncated", "decompress", "corrupt", "zlib", "deserialize", "unexpected end")
_REFUSALS = (pa.ArrowException, ValueError, LookupError, EOFError, ArithmeticError, MemoryError)
_REMEDY = "check that the file is complete and of the format its name says"
_ENCODING_REMEDY = f"if the text is not in this encoding, name the right one with {param.encoding}"

_FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow",
}  # fmt: skip


@dataclass(frozen=True)
class TextOptions:
    r"""How files are written: their format, where their names do not say it, and what delimited text is like.

    A delimiter of ``\t``, as shells pass it, is a tab.

    >>> TextOptions(delimiter="::")
    Traceback (most recent call last):
    headcount.errors.UsageError: --delimiter must be one ASCII character, not '::'; such as ';' or '\t'
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    format: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in OPENERS:
            raise UsageError(f"unknown {param.format}", given=self.format, remedy=f"one of {', '.join(OPENERS)}")
        if self.delimiter == "\\t":
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '\r\n"\0'
        ):
            raise UsageError(
                f"{param.delimiter} must be one ASCII character",
                given=self.delimiter,
                remedy=r"such as ';' or '\t'",
            )
        try:
            text_encoding = codecs.lookup(self.encoding)._is_text_encoding
        except (LookupError, ValueError, AttributeError):
            text_encoding = False
        if not text_encoding:
            raise UsageError(f"unknown {param.encoding}", given=self.encoding, remedy="such as utf-8 or latin-1")
        if unit_of(self.encoding) is None:
            raise UsageError(
                f"lines in {param.encoding} {self.encoding} cannot be read by themselves",
                remedy="convert the file to utf-8",
            )
        if not self.header and codecs.lookup(self.encoding).name in ("utf-16", "utf-32"):
            raise UsageError(
                f"with {param.header(False)}, {param.encoding} {self.encoding} would take the byte order from a "
                "row",
                remedy=f"name it: {self.encoding}-le or {self.encoding}-be",
            )

    @property
    def given(self) -> Parameter | None:
        """The first flag that differs from its default, for those who cannot use it."""
        flags = {param.delimiter: self.delimiter, param.encoding: codecs.lookup(self.encoding).name != "utf-8"}
        return next(
            (flag for flag, value in (flags | {param.header(False): not self.header}).items() if value), None
        )

    def to_json(self) -> dict[str, Any]:
        """Return what differs from the defaults, as a configuration says it.

        >>> TextOptions(delimiter=";", header=False).to_json()
        {'delimiter': ';', 'no_header': True}
        """
        options: dict[str, Any] = {} if self.delimiter is None else {"delimiter": self.delimiter}
        options |= {} if self.encoding == TextOptions.encoding else {"encoding": self.encoding}
        options |= {} if self.header else {"no_header": True}
        return options | ({} if self.format is None else {"format": self.format})


@dataclass(frozen=True)
class Opened:
    """An opened file: the declared type of a column by its name, the names, and a way to stream some columns.

    Parquet can be asked for some of its row groups as well.

    Where ``is_open``, nothing but rows would say which columns there are, so any name may be one, of text;
    ``names`` then looks at rows, and is for the curator's eyes only.
    """

    type_of: Callable[[str], pa.DataType | None]
    names: Callable[[], list[str]]
    batches: Callable[..., Iterator[pa.RecordBatch]]
    is_open: bool = False
    metadata: Any = None


def declared(schema: pa.Schema, where: str) -> Callable[[str], pa.DataType | None]:
    """Return how the type of a column is found in a schema; of two columns of one name neither is."""

    def type_of(name: str) -> pa.DataType | None:
        if schema.names.count(name) > 1:
            raise DataError(f"{where} has two columns named {name!r}", remedy="rename one")
        return schema.field(name).type if name in schema.names else None

    return type_of


def format_from_name(path: str) -> str | None:
    """Return the format a file name says, if it says one.

    >>> format_from_name("visits.CSV.gz"), format_from_name("visits.xlsx")
    ('csv', None)
    """
    return _FORMATS.get(_ending(path))


def _ending(path: str) -> str:
    suffixes = [suffix.lower() for suffix in PurePosixPath(path.replace("\\", "/")).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_of(path: str, given: bool = True) -> str:
    """Return the format a file name says, or refuse it; the error names a file that the caller gave."""
    file_format = format_from_name(path)
    if file_format is None:
        raise UsageError(
            f"{path if given else 'a file'} has a file name that says no format",
            remedy=f"rename it to .parquet, .csv, .jsonl or .arrow, or say {param.format}",
        )
    return file_format


@contextmanager
def reading(name: str, *, remote: bool = False, path: str | None = None) -> Iterator[None]:
    """Turn whatever goes wrong while reading into an error with the given name, and without the path.

    A damaged or wrong file is a data error; a full or failing disk, or a remote store that does not answer, is an
    error of the surroundings.
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
        raise kind(f"{name} cannot be read ({_reason(error, name, path)})", remedy=remedy) from error
    except _REFUSALS as error:
        text = isinstance(error, UnicodeError) or "invalid UTF8" in str(error)
        raise DataError(
            f"{name} cannot be read ({_reason(error, name, path)})", remedy=_ENCODING_REMEDY if text else _REMEDY
        ) from error


def _reason(error: BaseException, name: str, path: str | None) -> str:
    """Return what a library said, on one line and not too long; of a path it may name bucket and key apart."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} is not {error.encoding} text"
    words = " ".join(" ".join(str(part) for part in error.args).split()) or type(error).__name__
    for part in () if path is None or path == name else (path, path.partition("/")[2] or path):
        words = words.replace(part, name)
    return words if len(words) <= 200 else words[:199] + "…"


def parquet_chunks(metadata: Any, name: str) -> list[Any]:
    """Return the metadata of a column in every row group; nothing if there is no such plain column."""
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    if name not in paths:
        return []
    index = paths.index(name)
    return [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]


def _open_parquet(
    filesystem: pafs.FileSystem, path: str, name: str, _: TextOptions, texts: Sequence[str]
) -> Opened:
    """Open a file; some of its columns are read as text."""
    open_file = partial(pq.ParquetFile, path, filesystem=filesystem, pre_buffer=False, memory_map=False)
    plain = open_file()
    schema, metadata = plain.schema_arrow, plain.metadata
    chunks = {
        column: chunks_of_column for column in texts if (chunks_of_column := parquet_chunks(metadata, column))
    }
    # Arrow casts a column that declares codes unless it reads codes, and that fails on a text that is not UTF-8.
    declared_codes = {field.name for field in schema if pa.types.is_dictionary(field.type)}
    coded = frozenset(column for column in chunks if column in declared_codes or _are_coded(chunks[column]))

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
            rows = BATCH_ROWS if metadata.num_rows >= _MANY_ROWS else -(-BATCH_ROWS // 2)
            while rows > 1 and rows * width > BATCH_BYTES:
                rows //= 2
            return rows, as_codes

        opened = {frozenset[str](): plain}
        of_all = range(metadata.num_row_groups) if groups is None else groups
        for (rows, as_codes), run in itertools.groupby(of_all, layout):
            if as_codes not in opened:
                opened[as_codes] = open_file(metadata=metadata, read_dictionary=list(as_codes))
            yield from opened[as_codes].iter_batches(batch_size=rows, columns=columns, row_groups=list(run))

    return Opened(declared(schema, name), lambda: schema.names, batches, metadata=metadata)


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


def _open_csv(filesystem: pafs.FileSystem, path: str, name: str, text: TextOptions, _: Sequence[str]) -> Opened:
    from headcount.events.sources.files import text_readers

    how = filesystem, path, text.encoding, text.delimiter or ("\t" if _ending(path) == ".tsv" else ",")
    if not text.header:
        return Opened(
            text_readers.numbered,
            lambda: text_readers.column_numbers_of(*how),
            partial(text_readers.csv_rows, *how, None),
            is_open=True,
        )
    header = text_readers.header_of(*how, name)
    return Opened(
        lambda name: pa.string() if name in header else None,
        lambda: header,
        partial(text_readers.csv_rows, *how, header),
    )


def _open_jsonl(filesystem: pafs.FileSystem, path: str, _: str, __: TextOptions, ___: Sequence[str]) -> Opened:
    from headcount.events.sources.files import text_readers

    return Opened(
        lambda _: pa.string(),
        lambda: text_readers.member_names_of(filesystem, path),
        partial(text_readers.json_rows, filesystem, path),
        is_open=True,
    )


def _open_arrow(filesystem: pafs.FileSystem, path: str, name: str, _: TextOptions, __: Sequence[str]) -> Opened:
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
            chosen = batch.select(columns).columns
            for column in chosen:
                _refuse_damaged(column)
            chosen = [sound_codes(column) if pa.types.is_dictionary(column.type) else column for column in chosen]
            yield pa.RecordBatch.from_arrays(chosen, names=columns)

    schema = open_reader()[0]
    return Opened(declared(schema, name), lambda: schema.names, batches)


def _refuse_damaged(column: pa.Array) -> None:
    """Refuse an array whose buffers or offsets point nowhere; no value decides, since a row can hold any."""
    if pa.types.is_dictionary(column.type):
        _refuse_damaged(column.indices)
        _refuse_damaged(column.dictionary)
    else:
        as_bytes(column).validate(full=True)


OPENERS = {"parquet": _open_parquet, "csv": _open_csv, "jsonl": _open_jsonl, "arrow": _open_arrow}
