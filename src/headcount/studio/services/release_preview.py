"""The first rows of each table of a release, for its review before publication."""

from __future__ import annotations

from typing import Any, NamedTuple

from headcount.methods.registry import table
from headcount.releases.release import Release

_ROWS = 10


class Excerpt(NamedTuple):
    """A table with its first rows: columns with how they are set, and cells as text."""

    title: str
    rows: int
    columns: list[tuple[str, str]]
    cells: list[list[str]]


def first_rows(release: Release) -> list[Excerpt]:
    """Return the beginning of each table, those with counts by count."""
    return [_excerpt(name, released_table) for name, released_table in release.tables.items()]


def _excerpt(name: str, held: Any) -> Excerpt:
    shown = held.sort_by([("count", "descending")]) if "count" in held.column_names else held
    rows = shown.slice(0, _ROWS).to_pylist()
    numbers = {column for column in held.column_names if rows and isinstance(rows[0][column], int | float)}
    columns = [(column, "number" if column in numbers else "text") for column in held.column_names]
    cells = [[_text(row[column]) for column, _ in columns] for row in rows]
    return Excerpt(table(name).title or name.capitalize(), held.num_rows, columns, cells)


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
