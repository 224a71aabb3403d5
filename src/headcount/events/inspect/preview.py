"""Preview of raw rows: columns, types, null counts and the first three values; curator only, not private."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.events.inspect.suggest_roles import DayOrder, begins_with_day_and_month

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.events.sources.source import Source

_ROWS = 3
_TEXTS = 1_000
"""So many values of a text column show how its numbers are written."""

Progress = Callable[[str, int, int | None], None]


class Preview(NamedTuple):
    """What was seen of a source; ``rows`` is how many were looked at, ``whole`` whether that is all."""

    source: str
    rows: int
    columns: list[dict[str, Any]]
    days: dict[str, DayOrder]
    texts: dict[str, list[str]]
    whole: bool = True


def preview(source: Source, progress: Progress | None = None, *, most: int | None = None) -> Preview:
    """Read rows, all or about ``most``: count what is missing, keep three, see what dates like 01/12/2010 mean."""
    from headcount.events.encode.text_columns import sound_batch
    from headcount.events.sources.files.formats import is_text, plain_type

    names = source.names
    nulls = dict.fromkeys(names, 0)
    first: dict[str, list[Any]] = {name: [] for name in names}
    days: dict[str, DayOrder] = {}
    texts: dict[str, list[str]] = {name: [] for name in names if is_text(source.type_of(name))}
    rows, whole = 0, True
    for batch in map(sound_batch, source.batches(names)):
        if most is not None and rows >= most:
            whole = False
            break
        for name in names:
            column = batch.column(name)
            nulls[name] += column.null_count
            if len(first[name]) < _ROWS:
                first[name] += _values(column.slice(0, _ROWS - len(first[name])))
            if name in texts and len(texts[name]) < _TEXTS:
                texts[name] += filter(None, column.slice(0, _TEXTS - len(texts[name])).to_pylist())
            if is_text(column.type) and begins_with_day_and_month(first[name]):
                days[name] = days.get(name, DayOrder()).after(column)
        rows += batch.num_rows
        if progress is not None:
            progress("reading events", rows, source.rows)
    columns = [
        {
            "name": name,
            "type": plain_type(source.type_of(name)),
            "nulls": nulls[name],
            "first": [None if value is None else str(value) for value in first[name]],
        }
        for name in names
    ]
    return Preview(source.name, rows, columns, days, texts, whole)


def _values(column: pa.Array) -> list[Any]:
    """Return values to show; Python has no word for a time beyond its calendar or in an unknown zone."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return [None] * len(column)
