"""Column types by role, checked before any row is read, and exact casts of public values to them.

A catalogue and contexts are written as text and compared with columns of any type. A text stands for a whole
number only if it is how that number is written: ``7`` is 7, while ``007``, ``+7``, ``7.0`` and `` 7`` are not,
since in a text column they would be other ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.errors import DataError
from headcount.events.encode.text_columns import is_text, plain_type, sound, value_type

_PURPOSES = {
    "times": ("is to say how many records a row stands for", "cast it to whole numbers"),
    "values": ("is to hold values", "cast it to numbers, or choose another column"),
}


def check_column_type(kind: pa.DataType, role: str, column: str) -> None:
    """Refuse a type that does not fit a role: an id, unless the role is times or values; text fits every role.

    >>> check_column_type(pa.date32(), "user", "day")
    Traceback (most recent call last):
    headcount.errors.DataError: column 'day' is to name the user but holds date32[day]; ids are text or whole \
numbers; cast the column, or choose another one
    """
    kind = value_type(kind)
    fits = is_text(kind) or pa.types.is_null(kind) or pa.types.is_integer(id_type(kind))
    if fits or (role == "values" and (pa.types.is_floating(kind) or pa.types.is_decimal(kind))):
        return
    id_purpose = f"is to name the {role}", "cast the column, or choose another one"
    purpose, remedy = _PURPOSES.get(role, id_purpose)
    ids = "" if role in _PURPOSES else "; ids are text or whole numbers"
    raise DataError(f"column {column!r} {purpose} but holds {plain_type(kind)}{ids}", remedy=remedy)


def id_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that ids of a declared type are read as: fractions as whole numbers.

    >>> id_type(pa.float64()), id_type(pa.int8())
    (DataType(int64), DataType(int8))
    """
    return pa.int64() if pa.types.is_float32(value_type(kind)) or pa.types.is_float64(value_type(kind)) else kind


def whole_ids(column: pa.Array) -> pa.Array:
    """Return ids that are fractions as whole numbers, one by one; any other number is missing.

    A data frame makes fractions of whole numbers as soon as one is missing. From 2⁵³ on (2²⁴ where there are 32
    bits) two ids may have become one, and two users one user: those are missing as well.

    >>> whole_ids(pa.array([7.0, 7.5, None, float("nan"), float("inf"), -0.0, 2.0**53])).to_pylist()
    [7, None, None, None, None, 0, None]
    """
    if not (pa.types.is_float32(column.type) or pa.types.is_float64(column.type)):
        return column
    values = column.to_numpy(zero_copy_only=False)  # what is missing is not a number there
    whole = (np.abs(values) < 2 ** (np.finfo(values.dtype).nmant + 1)) & (values == np.trunc(values))
    return pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)


def check_comparable(kind: pa.DataType, column: str, compare: Callable[[pa.Array], object]) -> None:
    """Refuse a type that Arrow cannot compare, by a trial on a missing value: no row decides."""
    try:
        compare(sound(pa.nulls(1, kind)))
    except (pa.ArrowException, ValueError) as error:
        raise DataError(
            f"column {column!r} holds {plain_type(kind)}, which cannot be compared",
            remedy="cast the column to text, numbers or times",
        ) from error


class InexactError(ValueError):
    """A value that the type cannot hold exactly."""

    def __init__(self, value: object) -> None:
        super().__init__(str(value))
        self.value = value


def cast_exactly(values: Sequence[str | int], kind: pa.DataType) -> pa.Array:
    """Return the values as text, whole numbers, or whatever the type of a column asks for.

    >>> cast_exactly(["7", "-3"], pa.int8()).type
    DataType(int64)
    >>> cast_exactly(["007"], pa.int8())
    Traceback (most recent call last):
    headcount.events.encode.column_types.InexactError: 007
    """
    kind = value_type(kind)
    if is_text(kind) or pa.types.is_null(kind):
        return pa.array([str(value) for value in values], pa.string())
    if pa.types.is_integer(kind):
        wide = pa.uint64() if pa.types.is_uint64(kind) else pa.int64()
        if (numbers := _all_whole(values, kind)) is not None:
            return numbers.cast(wide)
        low, high = limits(kind)
        return pa.array([_whole(value, low, high) for value in values], wide)
    return pa.array([_other(value, kind) for value in values], kind)


def limits(kind: pa.DataType) -> tuple[int, int]:
    """Return the smallest and largest number of an integer type.

    >>> limits(pa.int8())
    (-128, 127)
    """
    if pa.types.is_signed_integer(kind):
        return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
    return 0, 2**kind.bit_width - 1


def _all_whole(values: Sequence[str | int], kind: pa.DataType) -> pa.Array | None:
    """Return texts as whole numbers, all at once; nothing if one of them is not how its number is written."""
    try:
        texts = pa.array(values, pa.string())
        numbers = texts.cast(kind)
    except (pa.ArrowException, ValueError):  # no numbers, or no texts
        return None
    return numbers if numbers.cast(pa.string()).equals(texts) else None


def _whole(value: str | int, low: int, high: int) -> int:
    try:
        number = int(value)
    except ValueError as error:
        raise InexactError(value) from error
    if str(number) != str(value) or not low <= number <= high:
        raise InexactError(value)
    return number


def _other(value: str | int, kind: pa.DataType) -> Any:
    """Return a truth value, written in any case, or what Arrow makes of a text."""
    text = str(value)
    if pa.types.is_boolean(kind) and text.lower() not in ("true", "false"):
        raise InexactError(value)
    try:
        return text.lower() == "true" if pa.types.is_boolean(kind) else pa.scalar(text).cast(kind)
    except pa.ArrowException as error:
        raise InexactError(value) from error
