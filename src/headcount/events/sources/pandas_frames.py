"""pandas frames as Arrow tables; types come from the frame's dtypes and never from its rows.

A column of Python objects is read as text, value by value: texts as they are, numbers, truth values and times as
they are written, and everything else as missing.
"""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from headcount.events.encode.text_columns import MAX_TEXT_BYTES


def table_of(frame: Any) -> pa.Table:
    """Return a pandas frame as a table, its index behind its columns unless that only numbers the rows."""
    names = [str(name) for name in frame.columns]
    levels = [] if type(frame.index).__name__ == "RangeIndex" else list(frame.index.names)
    names += [f"__index_level_{place}__" if name is None else str(name) for place, name in enumerate(levels)]
    index = [frame.index.get_level_values(place).to_frame(index=False) for place in range(len(levels))]
    frame = frame.reset_index(drop=True)
    of_objects = [place for place, kind in enumerate(frame.dtypes) if _is_object(kind)]
    typed = [place for place in range(len(frame.dtypes)) if place not in of_objects]
    columns: list[Any] = [None] * len(frame.dtypes)
    for place, column in zip(typed, pa.table(frame.iloc[:, typed]).columns, strict=True):
        columns[place] = column
    for place in of_objects:
        columns[place] = texts_of(frame.iloc[:, place])
    return pa.table([*columns, *(table_of(level).column(0) for level in index)], names=names)


def _is_object(kind: Any) -> bool:
    categories = getattr(kind, "categories", None)
    kind = kind if categories is None else categories.dtype
    return (
        str(kind) == "object" or getattr(kind, "storage", None) == "python"
    )  # where any text can be, Unicode or not


def texts_of(values: Any) -> pa.Array:
    """Return Python values as a column of text; equal values, such as 0.0 and -0.0, can have different texts."""
    return pa.array([as_text(value) for value in values], pa.string())


def as_text(value: object) -> str | None:
    """Return one Python value as text, or None if it is missing or has no text in Unicode.

    >>> [as_text(value) for value in ("tea", 7, True, -0.0, float("nan"), None, ["tea"], 10**5_000)]
    ['tea', '7', 'true', '-0.0', None, None, None, None]
    """
    try:
        text = _written(value)
        if text is not None:
            text = text[: MAX_TEXT_BYTES + 1]  # enough to tell that it is too long
            text.encode()
    except Exception:  # the class of the value can raise any error
        return None
    return text


def _written(value: Any) -> str | None:
    if isinstance(value, str):
        return str.__str__(value)  # plain text, whatever a class that extends it does
    if hasattr(value, "item"):
        value = value.item() if getattr(value, "ndim", 1) == 0 else None  # a number of NumPy's
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return None if math.isnan(value) else float.__repr__(value)
    if isinstance(value, int | Decimal | datetime | date | time | UUID):
        text = str.__str__(str(value))
        return None if text in ("NaT", "NaN", "sNaN") else text
    return None
