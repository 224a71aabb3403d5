"""The value column: a number of each record, such as a rating or a price, with a declared range."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import DataError, UsageError
from headcount.events.formats import is_text

Range = tuple[Decimal, Decimal]

_EXAMPLE = "for example --value-range 1,5"


def read_range(value: str | None, given: Any) -> Range | None:
    """Read the range of a value column, ``LO,HI`` or a pair; neither goes without the other.

    >>> read_range("stars", "1,5")
    (Decimal('1'), Decimal('5'))
    """
    if given is None:
        if value is not None:
            raise UsageError(
                "--value is given without --value-range, the public range it is cut to", remedy=_EXAMPLE
            )
        return None
    if value is None:
        raise UsageError("--value-range is given without --value", remedy="name the column with --value COL")
    parts = given.split(",") if isinstance(given, str) else list(given)
    try:
        low, high = (Decimal(repr(each) if isinstance(each, float) else str(each).strip()) for each in parts)
    except (ValueError, InvalidOperation) as error:
        raise UsageError("--value-range must be two numbers", given=given, remedy=_EXAMPLE) from error
    if not (low.is_finite() and high.is_finite() and low < high):
        raise UsageError("--value-range must go from a number up to a larger one", given=given, remedy=_EXAMPLE)
    return low, high


def finite_numbers(column: pa.Array, name: str) -> pa.Array:
    """Return the values of a column as floating-point numbers, null where there is no finite one."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    try:
        numbers = column.cast(pa.float64(), safe=False)
    except pa.ArrowException as error:
        raise DataError(
            f"column {name!r} is to hold values, but one of them is not a number "
            f"({' '.join(str(error).split())[:120]})",
            remedy="correct the file, or choose another column",
        ) from error
    return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))
