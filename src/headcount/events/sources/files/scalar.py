"""Parse single texts as numbers or times; the result depends on the text and public settings alone.

A text that says no such thing has no value; that is no error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Flags, Floats, Integers
from headcount.events.encode.column_types import whole_ids
from headcount.events.encode.id_table import TextTable, raw_ids
from headcount.events.encode.text_columns import by_text, bytes_of, is_textual
from headcount.events.sources.files.kernels import scalar as kernels

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (on the wall's clock)
MICROSECOND = timedelta(microseconds=1)
_POWERS: Floats = np.array([float(f"1e{power}") for power in range(23)])
FIRST = (datetime(1, 1, 1) - EPOCH) // MICROSECOND  # noqa: DTZ001
LAST = (datetime(9999, 12, 31, 23, 59, 59, 999_999) - EPOCH) // MICROSECOND  # noqa: DTZ001


@dataclass(frozen=True)
class Moments:
    """Times in microseconds since 1970, where ``there`` says that there is one.

    Those that are ``instant`` are counted from 1970 in UTC; the others are what a clock on the wall showed.
    """

    micros: Integers
    there: Flags
    instant: Flags

    def take(self, places: Integers) -> Moments:
        """Return the times at some places."""
        return Moments(self.micros[places], self.there[places], self.instant[places])


def whole_numbers(column: pa.Array) -> tuple[Integers, Flags]:
    """Read texts that are whole numbers of up to 18 digits.

    >>> whole_numbers(pa.array(["7", " -3", "1e3", "", None]))[0].tolist()
    [7, -3, 0, 0, 0]
    """
    texts, places = by_text(column)
    out, status = np.zeros(len(texts), dtype=np.int64), np.empty(len(texts), dtype=np.uint8)
    kernels.whole_numbers(*bytes_of(texts), out, status)
    there = (status == kernels.READ) & _valid(texts)
    return (out, there) if places is None else (out[places], there[places])


def numbers(column: pa.Array) -> tuple[Floats, Flags]:
    """Read texts that are finite decimal numbers, each to the nearest one that floating point has.

    >>> numbers(pa.array(["0.1", "-2e3", "1e400", "nan", "0x1", None]))[0].tolist()
    [0.1, -2000.0, 0.0, 0.0, 0.0, 0.0]
    """
    texts, places = by_text(column)
    out, status = np.zeros(len(texts), dtype=np.float64), np.empty(len(texts), dtype=np.uint8)
    kernels.numbers(*bytes_of(texts), _POWERS, out, status)
    there = (status == kernels.READ) & _valid(texts)
    for row, text in _texts_left_to_python(texts, status == kernels.ASK):
        out[row] = float(text)
        there[row] = np.isfinite(out[row])
    out[~there] = 0
    return (out, there) if places is None else (out[places], there[places])


def iso_times(column: pa.Array) -> Moments:
    """Read texts that are times in ISO 8601; a bare number could be anything, and is none.

    >>> read = iso_times(pa.array(["1970-01-02", "1970-01-01T01:00+01:00", "20260306", "soon"]))
    >>> read.micros.tolist(), read.there.tolist(), read.instant.tolist()
    ([86400000000, 0, 0, 0], [True, True, False, False], [False, True, False, False])
    """
    texts, places = by_text(column)
    size = len(texts)
    read = Moments(np.empty(size, dtype=np.int64), np.empty(size, dtype=bool), np.empty(size, dtype=bool))
    ask = np.empty(size, dtype=bool)
    left = kernels.iso_times(*bytes_of(texts), FIRST, LAST, read.micros, read.there, read.instant, ask)
    if texts.null_count:
        read.there[~_valid(texts)] = False
    if left:
        _read_singly(read, _texts_left_to_python(texts, ask), _from_iso)
    return read if places is None else read.take(places)


def times_by(column: pa.Array, read: Callable[[str], datetime]) -> Moments:
    """Read texts that are times in a form of their own; ``read`` raises ValueError for any other text.

    Each text is read once. A keyed table codes them: Arrow's hash of texts has no key, so a user could flood it.
    """
    if not pa.types.is_dictionary(column.type):
        table = TextTable()
        codes = pa.array(table.codes(column))
        column = pa.DictionaryArray.from_arrays(codes, pa.array(raw_ids(table), pa.large_string()))
    texts, places = by_text(column)
    size = len(texts)
    moments = Moments(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool), np.zeros(size, dtype=bool))
    _read_singly(moments, _texts_left_to_python(texts, np.ones(size, dtype=bool)), read)
    return moments if places is None else moments.take(places)


def _read_singly(moments: Moments, texts: list[tuple[int, str]], read: Callable[[str], datetime]) -> None:
    moment_by_text: dict[str, datetime | None] = {}
    for row, text in texts:
        if text not in moment_by_text:
            try:
                moment_by_text[text] = read(text)
            except (ValueError, OverflowError):
                moment_by_text[text] = None
        moment = moment_by_text[text]
        if moment is None:
            continue
        offset = moment.utcoffset()
        micros = (moment.replace(tzinfo=None) - EPOCH - (offset or timedelta(0))) // MICROSECOND
        if FIRST <= micros <= LAST:  # an offset may lead out of the calendar
            moments.micros[row], moments.there[row], moments.instant[row] = micros, True, offset is not None


def _from_iso(text: str) -> datetime:
    text = text.strip()
    if not text.isascii() or _BARE.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text)


_BARE = re.compile(r"[+-]?\d+(\.\d*)?")


def _texts_left_to_python(texts: pa.Array, ask: Flags) -> list[tuple[int, str]]:
    """Return the texts that are left to Python, with their rows."""
    rows = np.flatnonzero(ask)
    if not rows.size:
        return []
    chosen = texts.take(pa.array(rows)).to_pylist()
    return [(int(row), text) for row, text in zip(rows, chosen, strict=True) if text is not None]


def _valid(texts: pa.Array) -> Flags:
    return np.asarray(pc.is_valid(texts), dtype=bool)


MOST_TIMES = 2**31 - 1
"""How many records a row may stand for."""


def finite_numbers(column: pa.Array) -> pa.Array:
    """Return the values of a column as floating-point numbers, null where there is no finite one.

    >>> finite_numbers(pa.array(["4.5", "five", None])).to_pylist()
    [4.5, None, None]
    """
    if is_textual(column.type):
        values, there = numbers(column.cast(pa.string()) if pa.types.is_null(column.type) else column)
        return pa.array(values, mask=~there)
    values = column.cast(pa.float64(), safe=False)
    return pc.if_else(pc.is_finite(values), values, pa.scalar(None, pa.float64()))


def repetitions(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return how many records each row stands for, and whether it says so; one that does not stands for none.

    A data frame makes fractions of whole numbers as soon as one is missing.

    >>> repetitions(pa.array(["2", "many", "-1", None]))[0].tolist()
    [2, 0, 0, 0]
    >>> repetitions(pa.array([2.0, 2.5, None]))[0].tolist()
    [2, 0, 0]
    """
    column = whole_ids(column)
    if is_textual(column.type):
        values, there = whole_numbers(column.cast(pa.string()) if pa.types.is_null(column.type) else column)
    else:
        there = np.asarray(pc.is_valid(column), dtype=bool)
        raw = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        there = there & (raw <= MOST_TIMES)
        values = np.where(there, raw, 0).astype(np.int64)
    there = there & (values >= 0) & (values <= MOST_TIMES)
    return np.where(there, values, 0), there
