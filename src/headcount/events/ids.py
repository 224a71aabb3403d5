"""Tables of ids: raw whole numbers or text in, dense codes out, exactly.

Codes are an internal convenience: nothing that reaches a release depends on them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.events import kernels
from headcount.events.formats import is_text

Codes = NDArray[np.int32]

_WIDEST_RANGE = 1 << 26


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

    >>> NumberRange(10, 19).codes(pa.array([10, 12, 99])).tolist()
    [0, 2, -1]
    """

    def __init__(self, low: int, high: int) -> None:
        self._low = low
        self.size = high - low + 1

    def codes(self, column: pa.Array, *, may_add: bool = True) -> Codes:  # noqa: ARG002
        """Return the distance of each number from the start of the range."""
        values = numbers_of(column)
        if self._low == 0 and values.dtype == np.int32:
            return values
        inside = (values >= self._low) & (values < self._low + self.size)
        return np.where(inside, values - self._low, -1).astype(np.int32)

    @property
    def raw(self) -> NDArray[np.int64]:
        """Every number of the range."""
        return np.arange(self._low, self._low + self.size, dtype=np.int64)


class NumberTable:
    """Any whole numbers, by hashing.

    >>> NumberTable().codes(pa.array([7, -3, 7])).tolist()
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self.size = 0
        self._resize(1 << 12)

    def codes(self, column: pa.Array, *, may_add: bool = True) -> Codes:
        """Return the code of each number, adding new ones."""
        values = numbers_of(column)
        out = np.empty(values.size, dtype=np.int32)
        row = 0
        while True:
            row, self.size = kernels.intern_numbers(
                values, row, self._keys, self._codes, self._ids, self.size, may_add, out
            )
            if row == values.size:
                return out
            self._resize(4 * self._codes.size)

    @property
    def raw(self) -> NDArray[np.int64]:
        """The numbers by code."""
        return self._ids[: self.size]

    def _resize(self, slots: int) -> None:
        known = self._ids[: self.size] if self.size else np.empty(0, dtype=np.int64)
        self._keys = np.empty(slots, dtype=np.int64)
        self._codes = np.full(slots, -1, dtype=np.int32)
        self._ids = np.empty(slots, dtype=np.int64)
        kernels.intern_numbers(
            known, 0, self._keys, self._codes, self._ids, 0, True, np.empty(known.size, np.int32)
        )


class TextTable:
    """Any texts, by hashing, compared byte by byte.

    >>> table = TextTable()
    >>> table.codes(pa.array(["tea", "rye", "tea", ""])).tolist()
    [0, 1, 0, 2]
    >>> table.codes(pa.array(["rye", "oat"]), may_add=False).tolist()
    [1, -1]
    """

    def __init__(self) -> None:
        self.size = 0
        self._arena = np.empty(1 << 16, dtype=np.uint8)
        self._ends = np.empty(0, dtype=np.int64)
        self._resize(1 << 12)

    def codes(self, column: pa.Array, *, may_add: bool = True) -> Codes:
        """Return the code of each text, adding new ones."""
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        of_value = self._intern(coded.dictionary, may_add=may_add)
        return np.asarray(of_value[coded.indices.to_numpy(zero_copy_only=False)], dtype=np.int32)

    @property
    def raw(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of all texts, and where each one ends."""
        return self._arena, self._ends[: self.size]

    def _intern(self, texts: pa.Array, *, may_add: bool) -> Codes:
        data, offsets = _bytes_of(texts)
        out = np.empty(len(texts), dtype=np.int32)
        row = 0
        while True:
            row, self.size = kernels.intern_text(
                data,
                offsets,
                row,
                self._hashes,
                self._codes,
                self._arena,
                self._ends,
                self.size,
                may_add,
                out,
            )
            if row == out.size:
                return out
            used = int(self._ends[self.size - 1]) if self.size else 0
            needed = used + int(offsets[-1] - offsets[row])
            if needed > self._arena.size:
                self._arena = np.concatenate([self._arena, np.empty(needed, dtype=np.uint8)])
            self._resize(4 * self._codes.size if 3 * (self.size + 1) > 2 * self._codes.size else self._codes.size)

    def _resize(self, slots: int) -> None:
        known = np.concatenate([np.zeros(1, dtype=np.int64), self._ends[: self.size]])
        self._hashes = np.empty(slots, dtype=np.uint64)
        self._codes = np.full(slots, -1, dtype=np.int32)
        self._ends = np.empty(slots, dtype=np.int64)
        kernels.intern_text(
            self._arena, known, 0, self._hashes, self._codes, self._arena, self._ends, 0, True,
            np.empty(known.size - 1, dtype=np.int32),
        )  # fmt: skip


def ids_for(kind: pa.DataType, known_range: tuple[int, int] | None, rows: int | None) -> Ids:
    """Choose the table that fits a column: by its type, its range and the number of rows."""
    if is_text(kind):
        return TextTable()
    if known_range is not None:
        low, high = known_range
        span = high - low + 1
        if high < 2**63 and span <= min(_WIDEST_RANGE, max(1 << 20, 4 * (rows or 0))):
            return NumberRange(low, high)
    return NumberTable()


def catalogue_codes(catalogue: pa.Array) -> Any:
    """Return a function from an item column to positions in the catalogue, -1 for what it does not list."""
    if is_text(catalogue.type):
        table = TextTable()
        table.codes(catalogue)
        return lambda column: table.codes(column, may_add=False)
    numbers = catalogue.to_numpy()
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < _WIDEST_RANGE:
        places = np.full(high - low + 1, -1, dtype=np.int32)
        places[numbers - low] = np.arange(numbers.size, dtype=np.int32)
        return lambda column: through(column, low, places)
    hashed = NumberTable()
    hashed.codes(catalogue)
    return lambda column: hashed.codes(column, may_add=False)


def through(column: pa.Array, low: int, places: Codes) -> Codes:
    """Look whole numbers up in a table that starts at ``low``."""
    values = column.to_numpy() if pa.types.is_int8(column.type) else numbers_of(column)
    out = np.empty(values.size, dtype=np.int32)
    kernels.look_up(values, low, places, out)
    return out


def numbers_of(column: pa.Array) -> NDArray[Any]:
    """Return a column of whole numbers without nulls as int32 or int64."""
    if pa.types.is_uint64(column.type):
        return column.to_numpy().view(np.int64)  # a bijection: ids need no order
    if not (pa.types.is_int32(column.type) or pa.types.is_int64(column.type)):
        column = pc.cast(column, pa.int64())
    values: NDArray[Any] = column.to_numpy()
    return values


def _bytes_of(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    plain = texts.cast(pa.large_string())
    if plain.null_count:
        plain = plain.fill_null("")
    _, offsets, data = plain.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[plain.offset : plain.offset + len(plain) + 1]
    content = np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return content, places
