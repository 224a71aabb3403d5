"""Column types of a log across several files, and Hive-style ``key=value`` partition columns."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote

import pyarrow as pa

from headcount.errors import DataError
from headcount.events.encode.column_types import whole_ids
from headcount.events.sources.files.formats import Opened, plain_type, value_type

_MISSING = "__HIVE_DEFAULT_PARTITION__"


def agreed_type(
    column: str, first: pa.DataType, here: pa.DataType, where: str, before: str, whole: bool = False
) -> pa.DataType:
    """Return the type of a column in two files; refuse types that differ.

    Writers declare the null type where no user has a value: all values of such a file are missing. They declare
    fractions where one user's value is missing, so a column of ``whole`` numbers may be of both.

    >>> agreed_type("item", pa.null(), pa.string(), "b.parquet", "a.parquet")
    DataType(string)
    """
    if pa.types.is_null(value_type(first)) or pa.types.is_null(value_type(here)):
        return here if pa.types.is_null(value_type(first)) else first
    if whole and {value_type(first), value_type(here)} == {pa.int64(), pa.float64()}:
        return pa.int64()
    if plain_type(here) != plain_type(first):
        before = "another" if where == before else before
        raise DataError(
            f"column {column!r} holds {plain_type(here)} in {where} but {plain_type(first)} in {before}",
            remedy="give the column the same type in all files",
        )
    return first


def type_in(opened: Opened, folder: dict[str, str | None], column: str) -> pa.DataType | None:
    """Return the type of a column in a file or in the names of its folders; None if neither has it."""
    if in_folder(opened, folder, column):
        return pa.string()
    return opened.type_of(column)


def in_folder(opened: Opened, folder: dict[str, str | None], column: str) -> bool:
    """Tell whether a folder says what a column holds; what a file itself declares comes first."""
    return column in folder and (opened.is_open or opened.type_of(column) is None)


def folder_columns(path: str) -> dict[str, str | None]:
    """Return what the folders of a path say; a value may hold an equals sign, and a key may not.

    >>> folder_columns("logs/year=2026/city=San%20Jos%C3%A9/part.csv")
    {'year': '2026', 'city': 'San José'}
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts[:-1]
    pairs = [part.partition("=") for part in parts if part.find("=") > 0]
    return {key: None if value == _MISSING else unquote(value) for key, _, value in pairs}


def with_folder_columns(
    batch: pa.RecordBatch, columns: dict[str, pa.DataType], folder: dict[str, str | None]
) -> pa.RecordBatch:
    """Return rows with all columns, in their types: those of folders, and those in which all is missing."""
    arrays = []
    for name, kind in columns.items():
        if name not in batch.schema.names:
            arrays.append(pa.repeat(pa.scalar(folder[name], pa.string()), batch.num_rows))
        elif pa.types.is_null(batch.column(name).type):
            arrays.append(pa.nulls(batch.num_rows, kind))
        else:
            arrays.append(whole_ids(batch.column(name)) if pa.types.is_int64(kind) else batch.column(name))
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
