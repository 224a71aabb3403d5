"""Record values and weights: value ranges, finite values, and how many records a row stands for."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.parameters import read_decimal
from headcount.errors import UsageError, param
from headcount.events.encode.column_types import whole_ids
from headcount.events.encode.text_columns import is_textual
from headcount.events.sources.files.scalar import numbers, whole_numbers

Range = tuple[Decimal, Decimal]
MOST_TIMES = 2**31 - 1
"""How many records a row may stand for."""

_EXAMPLE = f"for example {param.value_range('1,5')}"


def read_range(value: str | None, given: Any) -> Range | None:
    """Read the range of a value column, ``LO,HI`` or a pair; there is none without a column.

    >>> read_range("stars", "1,5")
    (Decimal('1'), Decimal('5'))
    """
    if given is None:
        return None
    if value is None:
        raise UsageError(
            f"{param.value_range} is given without {param.value}",
            remedy=f"name the column with {param.value('COL')}",
        )
    parts = given.split(",") if isinstance(given, str) else list(given)
    try:
        low, high = (read_decimal(repr(part) if isinstance(part, float) else part) for part in parts)
    except (ValueError, InvalidOperation) as error:
        raise UsageError(f"{param.value_range} must be two numbers", given=given, remedy=_EXAMPLE) from error
    if not (low.is_finite() and high.is_finite() and low < high):
        raise UsageError(
            f"{param.value_range} must go from a number up to a larger one", given=given, remedy=_EXAMPLE
        )
    return low, high


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
