"""Id tables: hash raw integer or text ids to dense codes, exactly and with secret hash keys.

Codes are an internal convenience: nothing that reaches a release depends on them.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Draws
from headcount.errors import DataError
from headcount.events.encode import kernels
from headcount.events.encode.text_columns import bytes_of, is_textual

_WIDEST_RANGE = 1 << 26
_WORD = 8


class Ids(Protocol):
    """A table of ids."""

    @property
    def size(self) -> int:
        """How many codes there are."""

    def codes(self, column: pa.Array, *, may_add: bool = True) -> Codes:
        """Return the code of each id, -1 for one that is not in the table and may not be added."""

    @property
    def raw(self) -> NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The raw ids by code: numbers, or the bytes of all texts and where each one ends."""


class NumberRange:
    """Whole numbers within a known range: the code is the distance from its start.

    >>> NumberRange(10, 19).codes(pa.array([10, 12])).tolist()
    [0, 2]
    """

    def __init__(self, low: int, high: int, name: str = "ids") -> None:
        self._low, self._high, self._name = low, high, name
        self.size = high - low + 1

    def codes(self, column: pa.Array, *, may_add: bool = True) -> Codes:  # noqa: ARG002
        """Return the distance of each number from the start of the range, which must hold them all."""
        values = numbers_of(column)
        if values.size and (values.min() < self._low or values.max() > self._high):
            raise DataError(
                f"column {self._name!r} goes from {values.min()} to {values.max()}, but the file itself says from "
                f"{self._low} to {self._high}: it is damaged",
                remedy="write it again",
            )
        if self._low == 0 and values.dtype == np.int32:
            return values
        return (values - self._low).astype(np.int32)

    @property
    def raw(self) -> NDArray[np.int64]:
        """Every number of the range."""
        return self._low + np.arange(self.size, dtype=np.int64)


class NumberTable:
    """Any whole numbers, by hashing.

    >>> NumberTable().codes(pa.array([7, -3, 7])).tolist()
    [0, 1, 0]
    """

    def __init__(self, slots: int = 1 << 12) -> None:
        self.size = 0
        self._words = secret_words()
        self._ids = np.empty(0, dtype=np.int64)
        self._resize(slots)

    def codes(self, column: pa.Array, *, may_add: bool = True) -> Codes:
        """Return the code of each number, adding new ones."""
        values = numbers_of(column)
        out = room_for_codes(values.size)
        row = 0
        while True:
            row, self.size = kernels.intern_numbers(
                values, row, self._words, self._slots, self._ids, self.size, may_add, out
            )
            if row == values.size:
                return out
            self._resize(self._slots.size)

    @property
    def raw(self) -> NDArray[np.int64]:
        """The numbers by code."""
        return self._ids[: self.size]

    def _resize(self, slots: int) -> None:
        ids = self._ids[: self.size]
        self._slots = np.full(2 * slots, -1, dtype=np.int64)
        self._ids = np.empty(slots // 2, dtype=np.int64)
        out = np.empty(ids.size, dtype=np.int32)
        kernels.intern_numbers(ids, 0, self._words, self._slots, self._ids, 0, True, out)


class TextTable:
    """Any texts, by hashing, compared byte by byte.

    >>> table = TextTable()
    >>> table.codes(pa.array(["tea", "rye", "tea", ""])).tolist()
    [0, 1, 0, 2]
    >>> table.codes(pa.array(["rye", "oat"]), may_add=False).tolist()
    [1, -1]
    """

    def __init__(self, slots: int = 1 << 12, room: int = 1 << 16) -> None:
        self.size = 0
        self._words = secret_words()
        self._latest: tuple[int, pa.Array, Codes] | None = None
        self._arena = np.empty(max(room, _WORD), dtype=np.uint8)
        self._ends = np.empty(0, dtype=np.int64)
        self._resize(slots)

    def codes(self, column: pa.Array, *, may_add: bool = True) -> Codes:
        """Return the code of each text, adding new ones."""
        if pa.types.is_dictionary(column.type):
            return self.look_up(column, may_add=may_add).codes()
        return self._intern(column, may_add=may_add)

    def look_up(self, column: pa.Array, *, may_add: bool = True) -> LookUp:
        """Return how the codes of a dictionary column are looked up: each of its texts is searched for once."""
        values = numbers_of(column.indices, as_they_are=pa.int8())
        return LookUp(values, 0, self._of_dictionary(column.dictionary, may_add=may_add))

    @property
    def raw(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of all texts, and where each one ends."""
        return self._arena, self._ends[: self.size]

    def _of_dictionary(self, texts: pa.Array, *, may_add: bool) -> Codes:
        """Return the codes of a dictionary; batches that follow each other often have the same one."""
        if self._latest is None or self._latest[0] != self.size or not self._latest[1].equals(texts):
            codes = self._intern(texts, may_add=may_add)
            self._latest = self.size, texts, codes
        return self._latest[2]

    def _intern(self, texts: pa.Array, *, may_add: bool) -> Codes:
        data, offsets = bytes_of(texts)
        if data.size < _WORD:  # of which a kernel takes so many at once
            data = np.concatenate([data, np.zeros(_WORD, dtype=np.uint8)])
        out = room_for_codes(len(texts))
        row = 0
        while True:
            row, self.size = kernels.intern_text(
                data, offsets, row, self._words, self._slots, self._arena, self._ends, self.size, may_add, out
            )
            if row == out.size:
                return out
            used = int(self._ends[self.size - 1]) if self.size else 0
            needed = used + int(offsets[row + 1] - offsets[row])
            if needed > self._arena.size:
                self._arena = np.concatenate([self._arena, np.empty(needed, dtype=np.uint8)])
            else:
                self._resize(4 * self._slots.size)

    def _resize(self, slots: int) -> None:
        ends = np.concatenate([np.zeros(1, dtype=np.int64), self._ends[: self.size]])
        self._slots = np.zeros(slots, dtype=np.uint64)
        self._ends = np.empty(slots, dtype=np.int64)
        out = np.empty(ends.size - 1, dtype=np.int32)
        kernels.intern_text(self._arena, ends, 0, self._words, self._slots, self._arena, self._ends, 0, True, out)


def secret_words() -> Draws:
    """Draw the words that say where a table keeps its ids; no other table has them, and no result depends on them.

    Without them a user could choose ids that meet in one place, and so decide how long a release takes.
    """
    return np.frombuffer(bytearray(os.urandom(8 * kernels.WORDS)), dtype=np.uint64)


def raw_ids(ids: Ids) -> list[int | str]:
    """Return the raw ids in the order of their codes.

    >>> table = TextTable()
    >>> table.codes(pa.array(["tea", "", "rye", "tea"])).tolist(), raw_ids(table)
    ([0, 1, 2, 0], ['tea', '', 'rye'])
    """
    raw = ids.raw
    if not isinstance(raw, tuple):
        numbers: list[int | str] = raw.tolist()
        return numbers
    data, ends = raw
    starts = [0, *ends.tolist()]
    return [bytes(data[start:end]).decode() for start, end in zip(starts, ends.tolist(), strict=False)]


def ids_for(kind: pa.DataType, id_range: tuple[int, int] | None, rows: int | None, name: str = "ids") -> Ids:
    """Choose the table that fits a column: by its type, its range and the number of rows."""
    if is_textual(kind):
        return TextTable()
    if id_range is not None and id_range[1] < 2**63:
        low, high = id_range
        span = high - low + 1
        if high < 2**63 and span <= min(_WIDEST_RANGE, max(1 << 20, 4 * (rows or 0))):
            return NumberRange(low, high, name)
    return NumberTable()


class LookUp(NamedTuple):
    """Whole numbers whose codes are in a table that starts at ``low``, -1 outside it."""

    values: NDArray[Any]
    low: int
    table: Codes

    def codes(self) -> Codes:
        """Return the code of each number."""
        out = room_for_codes(self.values.size)
        kernels.look_up(*self, out)
        return out


class Listed:
    """Where the values of a column stand in a public list.

    >>> Listed(pa.array(["rye", "tea"])).codes(pa.array(["tea", "oat"])).tolist()
    [1, -1]
    """

    def __init__(self, values: pa.Array) -> None:
        self._range: tuple[int, Codes] | None = None
        self._table: NumberTable | TextTable = TextTable() if is_textual(values.type) else NumberTable()
        if not is_textual(values.type):
            numbers = numbers_of(values)
            low, high = int(numbers.min()), int(numbers.max())
            if high - low < _WIDEST_RANGE:
                places = np.full(high - low + 1, -1, dtype=np.int32)
                places[numbers - low] = np.arange(numbers.size, dtype=np.int32)
                self._range = low, places
                return
        self._table.codes(values)

    def codes(self, column: pa.Array) -> Codes:
        """Return the place of each value, -1 for an unlisted one."""
        matches = self.look_up(column)
        return self._table.codes(column, may_add=False) if matches is None else matches.codes()

    def look_up(self, column: pa.Array) -> LookUp | None:
        """Return how the places are looked up, where no value need be searched for."""
        if self._range is not None:
            return LookUp(numbers_of(column, as_they_are=pa.int8()), *self._range)
        if isinstance(self._table, TextTable) and pa.types.is_dictionary(column.type):
            return self._table.look_up(column, may_add=False)
        return None


def room_for_codes(rows: int) -> Codes:
    """Return room for as many codes, in memory that Arrow keeps at hand: another batch uses it again."""
    return np.frombuffer(pa.allocate_buffer(4 * rows), dtype=np.int32)


def numbers_of(column: pa.Array, as_they_are: pa.DataType | None = None) -> NDArray[Any]:
    """Return a column of whole numbers without nulls as int32 or int64, or as the type that may stay as it is."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_uint64(column.type):
        viewed: NDArray[Any] = column.to_numpy().view(np.int64)  # a bijection: ids need no order
        return viewed
    if not (pa.types.is_int32(column.type) or pa.types.is_int64(column.type) or column.type == as_they_are):
        column = pc.cast(column, pa.int64())
    values: NDArray[Any] = column.to_numpy()
    return values
