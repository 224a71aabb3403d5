"""What a column must hold to play its role: refused before any row is read."""

from __future__ import annotations

import pyarrow as pa

from headcount.errors import DataError
from headcount.events.formats import is_text, plain_type, value_type


def check_id_type(kind: pa.DataType, role: str, column: str) -> None:
    """Refuse ids that are neither text nor whole numbers."""
    kind = value_type(kind)
    if is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind):
        return
    raise DataError(
        f"column {column!r} is to name the {role} but holds {plain_type(kind)}; ids are text or whole numbers",
        remedy="cast the column, or choose another one",
    )


def check_times_type(kind: pa.DataType, column: str) -> None:
    """Refuse a number of records that is no whole number."""
    kind = value_type(kind)
    if not (pa.types.is_integer(kind) or is_text(kind) or pa.types.is_null(kind)):
        raise DataError(
            f"column {column!r} is to say how many records a row stands for but holds {plain_type(kind)}",
            remedy="cast it to whole numbers",
        )


def check_value_type(kind: pa.DataType, column: str) -> None:
    """Refuse a column that holds no numbers, before any row is read."""
    kind = value_type(kind)
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (numbers or is_text(kind) or pa.types.is_null(kind)):
        raise DataError(
            f"column {column!r} is to hold values but holds {plain_type(kind)}",
            remedy="cast it to numbers, or choose another column",
        )
