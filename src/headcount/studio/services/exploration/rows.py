"""Table rows formatted for pages: links, rounded numbers, and bars with confidence intervals.

Numbers are rounded as everywhere: low downwards and high upwards, so that rounding never undercuts an interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.releases.formatting import whole
from headcount.reports.charts.release_charts import FURTHEST_DRAWN, unknown_beside
from headcount.reports.excerpts import BLANK, readable
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.table_search import Page, Row, SearchableTable

WIDE = 200
"""The units that a bar is wide at most."""

_NAMING = ("item", "other", "neighbour", "tag", "resource")
_COUNTS = ("count", "value", "answer")
_WHOLE = ("count", "users", "first", "second", "first_low", "first_high", "second_low", "second_high")
_SMALL = 10  # below, decimals are shown of what may be a share
_HEADINGS = {
    "rank": "#",
    "low": "Low",
    "high": "High",
    "told_apart": "Told apart",
    "rank_low": "Lowest rank",
    "rank_high": "Highest rank",
}


@dataclass(frozen=True)
class Column:
    """A column as it is shown."""

    name: str
    heading: str
    kind: str
    """``text`` or ``number``."""


@dataclass(frozen=True)
class Cell:
    """What is shown of one value; an item leads on to its page, and its id stands beside its label."""

    text: str
    kind: str
    href: str = ""
    small: str = ""
    heading: str = ""


@dataclass(frozen=True)
class Bar:
    """A count with its interval, drawn in units of which :data:`WIDE` are the whole width."""

    start: float
    length: float
    path: str
    words: str


@dataclass(frozen=True)
class TableRow:
    """A row."""

    place: int
    cells: Sequence[Cell]
    bar: Bar | None = None


def columns_of(browsed: SearchableTable) -> list[Column]:
    """Return the columns that are shown: an item and its label are one."""
    names = browsed.columns
    labelled = any(name in names for name in _NAMING)
    shown = [name for name in names if not (name == "label" and labelled)]
    return [Column(name, heading(name), _kind(browsed.table.schema.field(name).type, name)) for name in shown]


def heading(name: str) -> str:
    """Return what a column is called.

    >>> heading("count"), heading("rank_low"), heading("stands_out")
    ('Count', 'Lowest rank', 'Stands out')
    """
    return _HEADINGS.get(name) or name.replace("_", " ").capitalize()


def table_rows(opened: OpenedRelease, browsed: SearchableTable, page: Page, base: str) -> list[TableRow]:
    """Return the rows of a page; ``base`` is the address of the release."""
    columns, scale = columns_of(browsed), scale_of(browsed)
    missing = unknown_beside(opened.release.contexts or ())
    return [
        TableRow(
            place,
            [_cell(opened, column, row, base, missing) for column in columns],
            None if scale is None else bar(row, scale),
        )
        for row, place in zip(page.rows, page.places, strict=True)
    ]


def item_address(base: str, item: object) -> str:
    """Return where an item has its page.

    >>> item_address("/releases/1", "tea/green"), item_address("/releases/1", "..")
    ('/releases/1/items/tea/green', '/releases/1/items?item=..')
    """
    text = str(item)
    if "%" in text or any(part in ("", ".", "..") for part in text.split("/")):  # what many a program mends
        return f"{base}/items?item={quote(text, safe='')}"
    return f"{base}/items/{quote(text)}"


@dataclass(frozen=True)
class Scale:
    """From where to where bars are drawn, and which number they are of."""

    number: str
    least: float
    most: float

    def at(self, value: float) -> float:
        """Return where a value lies, within what is drawn."""
        share = (min(max(value, self.least), self.most) - self.least) / (self.most - self.least)
        return round(2 + share * (WIDE - 4), 1)


def scale_of(browsed: SearchableTable) -> Scale | None:
    """Return how bars of a table are drawn, the same on all its pages; None if it has no intervals."""
    names = browsed.columns
    number = next((column for column in _COUNTS if column in names), None)
    if number is None or not {"low", "high"} <= set(names) or "total" in names:
        return None
    count, low, high = (_finite_values(browsed.table[column]) for column in (number, "low", "high"))
    largest = float(count.max(initial=0.0))
    most = float(high.max(initial=0.0))
    lopsided = largest > 0 and most > FURTHEST_DRAWN * largest
    most = FURTHEST_DRAWN * largest if lopsided else most
    least = max(float(low.min(initial=0.0)), -max(most, 1.0))
    return Scale(number, min(least, 0.0), max(most, 1.0))


def bar(row: Mapping[str, Any], scale: Scale) -> Bar | None:
    """Draw a row's count: from zero, with its interval; an arrow where that goes on."""
    count, low, high = (row.get(entry) for entry in (scale.number, "low", "high"))
    if count is None or low is None or high is None:
        return None
    zero, end, left, right = (scale.at(entry) for entry in (0.0, count, low, high))
    begins = f"M{left} 3v8" if low >= scale.least else f"M{left + 3} 4l-3 3l3 3"
    ends = f"M{right} 3v8" if high <= scale.most else f"M{right - 3} 4l3 3l-3 3"
    words = f"{number(count)}, from {number(math.floor(low))} to {number(math.ceil(high))}"
    return Bar(min(zero, end), round(abs(end - zero), 1), f"M{left} 7H{right}{begins}{ends}", words)


def number(value: float, name: str = "count") -> str:
    """Write a number as its column does.

    >>> number(1234.4), number(-0.24, "low"), number(0.1234, "similarity"), number(99.5, "high")
    ('1,234', '−1', '0.1234', '100')
    """
    if name in ("low", "high"):
        return whole(math.floor(value) if name == "low" else math.ceil(value))
    if isinstance(value, int) or name in _WHOLE or (abs(value) >= _SMALL and name != "similarity"):
        return whole(value)
    return f"{value:.4g}".replace("-", "−")


def _cell(opened: OpenedRelease, column: Column, row: Row, base: str, missing: str) -> Cell:
    name, value = column.name, row[column.name]
    if name in _NAMING:
        shown, text = readable(opened.name(name, value)) or BLANK, readable(value) or BLANK
        href = item_address(base, value) if name in _NAMING[:3] else ""
        if name == "resource":
            href = f"{base}/tags?resource={quote(str(value), safe='')}"
        return Cell(shown, column.kind, href, "" if shown == text else text, column.heading)
    if value is None:
        text = missing if name == "context" else "–"
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, int | float):
        text = number(value, name) if math.isfinite(value) else "–"
    else:
        text = f"{len(value)} numbers" if isinstance(value, list) else readable(value) or BLANK
    return Cell(text, column.kind, heading=column.heading)


def _kind(kind: pa.DataType, name: str) -> str:
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return "number" if numeric and name not in _NAMING else "text"


def _finite_values(column: pa.ChunkedArray) -> Floats:
    values: Floats = column.cast(pa.float64()).to_numpy()
    return values[np.isfinite(values)]
