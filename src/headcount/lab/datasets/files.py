"""Reading downloaded files, plain or in archives: locate, open, and parse line by line or in blocks.

A file may lie in the folder as it was downloaded (an archive, or compressed) or unpacked. A block ends where a
line ends, so that large files are read piece by piece. What does not read as described is refused with its line.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from headcount._internal.arrays import Integers
from headcount.errors import DataError

BLOCK = 1 << 24
_AGAIN = "download it again"


@dataclass(frozen=True)
class Member:
    """One file of a download: its name, with the folder that unpacking makes, and what it comes packed in."""

    name: str
    archive: str | None = None

    def find(self, folder: Path) -> Path | None:
        """Return the file or archive that holds it, unpacked ones first."""
        plain = [folder / self.name, *sorted(folder.glob(f"*/{self.name}"))]
        packed = [folder / self.archive] if self.archive else []
        return next((path for path in (*plain, *packed) if path.is_file()), None)


def has_files(folder: Path, members: Sequence[Member]) -> bool:
    """Tell whether all files of a download are there."""
    return all(member.find(folder) for member in members)


@contextmanager
def open_member(folder: Path, member: Member) -> Iterator[tuple[Any, str]]:
    """Open a file of a download, wherever it lies, and say where that is."""
    path = member.find(folder)
    if path is None:
        raise DataError(f"{member.name} is not in {folder}")
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with damage_of(path):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                last = member.name.rpartition("/")[2]
                inside = [entry_name for entry_name in archive.namelist() if entry_name.rpartition("/")[2] == last]
                if not inside:
                    raise DataError(f"{path.name} holds no {last}", remedy=_AGAIN)
                with archive.open(inside[0]) as file:
                    yield file, f"{path.name}:{inside[0]}"
            return
        with opener(path, "rb") as file:
            yield file, path.name


@contextmanager
def damage_of(path: Path) -> Iterator[None]:
    """Say which archive is damaged."""
    try:
        yield
    except (zipfile.BadZipFile, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} is damaged ({error})", remedy=_AGAIN) from error


def blocks(file: Any, size: int = BLOCK) -> Iterator[bytes]:
    r"""Read whole lines, about ``size`` bytes at a time.

    >>> list(blocks(io.BytesIO(b"one\ntwo\nthree"), 5))
    [b'one\n', b'two\n', b'three']
    """
    left = b""
    while piece := file.read(size):
        text = left + piece
        end = text.rfind(b"\n") + 1
        if end:
            yield text[:end]
        left = text[end:]
    if left:
        yield left


def delimited(
    folder: Path,
    member: Member,
    delimiter: str,
    columns: Mapping[str, pa.DataType],
    *,
    header: bool = False,
    encoding: str = "utf-8",
) -> pa.Table:
    """Read a file of lines with these fields."""
    with open_member(folder, member) as (file, where):
        if header:
            file.readline()
        first = 2 if header else 1
        empty = pa.schema(list(columns.items())).empty_table()
        return pa.concat_tables([empty, *tables_in(file, delimiter, columns, where, first, encoding)])


def tables_in(
    file: Any,
    delimiter: str,
    columns: Mapping[str, pa.DataType],
    where: str,
    first: int = 1,
    encoding: str = "utf-8",
) -> Iterator[pa.Table]:
    """Read lines as tables, block by block; ``first`` is the number of the first line."""
    for block in blocks(file):
        text = block.decode(encoding, errors="replace").encode()
        yield table_of(text, delimiter, columns, where, first)
        first += block.count(b"\n")


def table_of(
    content: bytes, delimiter: str, columns: Mapping[str, pa.DataType], where: str, first: int
) -> pa.Table:
    """Read lines of UTF-8 as columns, quickly if all is well; otherwise one by one, to name the bad one."""
    if not content.strip():
        return pa.schema(list(columns.items())).empty_table()
    delimited_content = content.replace(b"::", b"\t") if delimiter == "::" else content
    try:
        return pacsv.read_csv(
            io.BytesIO(delimited_content),
            read_options=pacsv.ReadOptions(column_names=list(columns)),
            parse_options=pacsv.ParseOptions(
                delimiter="\t" if delimiter == "::" else delimiter, quote_char=False, ignore_empty_lines=False
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict(columns),
                strings_can_be_null=False,
                null_values=[],
                timestamp_parsers=[pacsv.ISO8601],
            ),
        )
    except pa.ArrowInvalid as error:
        _blame(content.decode(), delimiter, columns, where, first)
        raise DataError(f"{where} cannot be read: {error}") from error


def _blame(text: str, delimiter: str, columns: Mapping[str, pa.DataType], where: str, first: int) -> None:
    """Find the first line that cannot be read, and say what it should be."""
    for line, given in enumerate(text.splitlines(), first):
        fields = given.split(delimiter)
        if len(fields) != len(columns):
            raise bad(where, line, f"{len(columns)} fields ({', '.join(columns)})", given)
        for value, (name, kind) in zip(fields, columns.items(), strict=True):
            try:
                pa.array([value]).cast(kind)
            except pa.ArrowInvalid as error:
                raise bad(where, line, f"{name} as {kind}", given) from error


def numbers_by_line(folder: Path, member: Member) -> tuple[Integers, Integers]:
    """Read lines of whole numbers between blanks: how many each line has, and all of them."""
    sizes, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    with open_member(folder, member) as (file, where):
        first = 1
        for block in blocks(file):
            lines = block.removesuffix(b"\n").split(b"\n")
            try:
                values.append(np.array(block.split(), dtype=np.int32))
            except (ValueError, OverflowError):
                _blame_number(lines, where, first)
                raise
            sizes.append(np.array([len(line.split()) for line in lines], dtype=np.int64))
            first += len(lines)
    return np.concatenate(sizes), np.concatenate(values)


def _blame_number(lines: Sequence[bytes], where: str, first: int) -> None:
    for line, given in enumerate(lines, first):
        try:
            np.array(given.split(), dtype=np.int32)
        except (ValueError, OverflowError) as error:
            raise bad(where, line, "numbers between blanks", given.decode("latin-1")) from error


def bad(where: str, line: int, wanted: str, given: str) -> DataError:
    """Make the error for a line that is not as its publisher describes it."""
    shown = given.rstrip("\r\n")
    return DataError(
        f"{where}, line {line}: expected {wanted}",
        given=shown if len(shown) <= 80 else f"{shown[:79]}…",
        remedy="download the file again, and leave it as it is",
    )
