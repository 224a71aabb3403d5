"""Exact casts of public values (catalogue, contexts, bounds) to the type of a column, or an error.

A catalogue and contexts are written as text and compared with columns of any type. A text stands for a whole
number only if it is how that number is written: ``7`` is 7, while ``007``, ``+7``, ``7.0`` and `` 7`` are not,
since in a text column they would be other ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headcount.events.sources.files.formats import is_text, value_type


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
    headcount.events.encode.cast.InexactError: 007
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
    if pa.types.is_boolean(kind):
        return pa.array([_truth(value) for value in values], kind)
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


def _truth(value: str | int) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise InexactError(value)
    return str(value).lower() == "true"


def _other(value: str | int, kind: pa.DataType) -> pa.Scalar:
    try:
        return pa.scalar(str(value)).cast(kind)
    except pa.ArrowException as error:
        raise InexactError(value) from error
