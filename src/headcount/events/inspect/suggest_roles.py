"""Suggest the user, item and time columns from names, types and first values; curator only.

A guess is for the curator, who sees the raw data and corrects it: nothing is released because of one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from headcount.errors import DataError, param

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.events.sources.source import Source

_USERS = (
    "user", "user_id", "userid", "uid", "customer", "customer_id", "visitor", "member", "person", "who", "account",
)  # fmt: skip
_ITEMS = (
    "item", "item_id", "venue", "product", "stock", "sku", "movie", "film", "artist", "track", "page", "resource",
    "what", "title", "place", "url",
)  # fmt: skip
_USER_TABLE_COLUMNS = 4
"""So many columns, none of which is called as items are or holds times: a row is about a person."""

_DELIMITERS = {";": ";", "\t": "\\t", "|": "|"}
"""What may part columns beside a comma, and how a flag says it."""

_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d/%m/%y", "%m/%d/%y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_PATTERNS = tuple(day + clock for day, clock in product(_DAYS, _CLOCKS))
_UNITS = {9: "s", 10: "s", 12: "ms", 13: "ms", 15: "us", 16: "us"}
"""By how many digits a time since 1970 has: nine lie between 1973 and 2001."""

_SWAPPED = str.maketrans("dm", "md")
_BOTH = re.compile(r"\s*[0-9]{1,2}[/.-][0-9]{1,2}[/.-]")
_NO_MONTH = "(1[3-9]|2[0-9]|3[01])"


@dataclass(frozen=True)
class Guess:
    """What a file seems to hold: events, or people in rows; and which of its columns says what.

    ``time_format`` is how ``when`` is written, None if that needs no telling; ``numbers`` is the notation of text
    columns. ``doubt`` is what to look at.
    """

    reads: Literal["events", "people"]
    user: str | None = None
    item: str | None = None
    when: str | None = None
    time_format: str | None = None
    doubt: str | None = None
    numbers: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def flags(self) -> dict[str, Any]:
        """Return what would be said of the log, by the names of its flags.

        >>> Guess("events", user="who", item="what", when="at").flags()
        {'user': 'who', 'item': 'what', 'context': 'weekday:at'}
        """
        context = None if self.when is None else f"weekday:{self.when}"
        arguments = {"user": self.user, "item": self.item, "context": context, "time_format": self.time_format}
        return {name: value for name, value in arguments.items() if value is not None} | dict(self.numbers)


@dataclass(frozen=True)
class DayOrder:
    """Which of the two numbers that dates such as 01/12/2010 begin with was met above 12, so is no month."""

    first: bool = False
    second: bool = False

    def after(self, column: pa.Array) -> DayOrder:
        """Return what is known after more values of the column."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = column.cast(pa.large_string())

        def has_match(pattern: str) -> bool:
            return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())

        first = self.first or has_match(rf"^\s*{_NO_MONTH}[/.-]")
        return replace(
            self, first=first, second=self.second or has_match(rf"^\s*[0-9]{{1,2}}[/.-]{_NO_MONTH}[/.-]")
        )

    def allows(self, pattern: str) -> bool:
        """Tell whether dates in this order may be written so."""
        return not (self.first if pattern.startswith("%m") else self.second and pattern.startswith("%d"))


def begins_with_day_and_month(values: Iterable[str | None]) -> bool:
    """Tell whether texts begin with two short numbers.

    >>> begins_with_day_and_month(["01/12/2010 08:26"]), begins_with_day_and_month(["2010-12-01"])
    (True, False)
    """
    there = [value for value in values if value is not None]
    return bool(there) and all(_BOTH.match(value) for value in there)


def with_best_delimiter(source: Source) -> tuple[Source, str | None]:
    """Return a file as the delimiter reads it that makes most columns of it, and that delimiter if not a comma."""
    from headcount.events.sources.source import FileSource

    if not isinstance(source, FileSource) or source.format != "csv" or source.text.delimiter is not None:
        return source, None
    best, delimiter_flag = source, None
    for delimiter, flag in _DELIMITERS.items():
        other = replace(source, text=replace(source.text, delimiter=delimiter))
        try:
            if len(other.names) > len(best.names):
                best, delimiter_flag = other, flag
        except DataError:  # names that are missing or twice there: it parts something else
            continue
    return best, delimiter_flag


def guess(
    columns: Sequence[Mapping[str, Any]],
    days: Mapping[str, DayOrder],
    texts: Mapping[str, Sequence[str]] = {},
) -> Guess:
    """Guess what columns hold, as they were previewed, and how ``texts`` of them write numbers.

    >>> named = ({"name": name, "type": "text", "first": ["tea"]} for name in ("who", "what"))
    >>> guess(list(named), {})
    Guess(reads='events', user='who', item='what', when=None, time_format=None, doubt=None, numbers={})
    """
    from headcount.events.inspect.suggest_notation import guess_numbers

    numbers, doubts = guess_numbers(texts)
    roles = _roles(columns, days)
    doubts = [roles.doubt, *doubts] if roles.doubt else doubts
    return replace(roles, numbers=numbers, doubt=" ".join(doubts) or None)


def _roles(columns: Sequence[Mapping[str, Any]], days: Mapping[str, DayOrder]) -> Guess:
    """Guess which columns say who, what and when."""
    ids = [column["name"] for column in columns if column["type"] == "text" or "int" in column["type"]]
    times = {
        column["name"]: written
        for column in columns
        if (written := time_format(column, days.get(column["name"], DayOrder()))) is not None
    }
    untimely = [name for name in ids if name not in times]
    user = _guess(untimely, _USERS)
    item = _guess([name for name in untimely if name != user], _ITEMS)
    user = user or _column_named(untimely, "id")
    if not times and item is None and len(columns) >= _USER_TABLE_COLUMNS:
        return Guess("people", user)
    user = user or _first([*untimely, *ids], item)
    item = item or _first([*untimely, *ids], user)
    when = next((name for name in times if name not in (user, item)), None)
    if when is None:
        return Guess("events", user, item)
    doubt = _doubt(times[when], days.get(when))
    return Guess("events", user, item, when, times[when] or None, doubt and f"In {when!r}, {doubt}.")


def time_format(column: Mapping[str, Any], order: DayOrder = DayOrder()) -> str | None:  # noqa: B008 - frozen
    """Say how the times of a column are written, by its first values; nothing to tell: ''; no times: None.

    >>> time_format({"name": "InvoiceDate", "type": "text", "first": ["1/12/2010 8:26"]})
    '%d/%m/%Y %H:%M'
    """
    if column["type"].startswith(("timestamp", "date")):
        return ""
    values = [value for value in column["first"] if value is not None]
    if not values or not (column["type"] == "text" or "int" in column["type"]):
        return None
    if column["type"] == "text":
        if all(_is_iso(value) for value in values):
            return ""
        fitting = [
            pattern
            for pattern in _PATTERNS
            if order.allows(pattern) and all(_fits(value, pattern) for value in values)
        ]
        if fitting:
            return fitting[0]
    timely = any(word in column["name"].lower() for word in ("time", "date", "when", "stamp", "_at"))
    units = {_UNITS.get(len(value)) if value.isdecimal() else None for value in values}
    return units.pop() if timely and len(units) == 1 else None


def _doubt(written: str, order: DayOrder | None) -> str | None:
    """Say that nothing tells days from months, where that is so."""
    other = written[:6].translate(_SWAPPED) + written[6:]
    if order is None or order.first or order.second or other not in _PATTERNS:
        return None
    first = param.time_format(_quoted(written))
    return f'nothing tells whether the day or the month comes first: choose {first} or "{other}"'


def _is_iso(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return "-" in value


def _fits(value: str, pattern: str) -> bool:
    try:
        datetime.strptime(value.strip(), pattern)  # noqa: DTZ007 - whether it is one, not when
    except ValueError:
        return False
    return True


def _guess(names: list[str], usual: tuple[str, ...]) -> str | None:
    exact = next(
        (column for usual_name in usual if (column := _column_named(names, usual_name)) is not None), None
    )
    return exact or next((name for name in names for usual_name in usual if usual_name in name.lower()), None)


def _column_named(names: list[str], wanted: str) -> str | None:
    return next((name for name in names if name.lower() == wanted), None)


def _first(names: list[str], taken: str | None) -> str | None:
    return next((name for name in names if name != taken), None)


def time_remedy(column: str, texts: Sequence[str]) -> str | None:
    """Say which time format reads most of some texts that are not read.

    >>> from headcount.errors import command_line, render
    >>> render(time_remedy("day", ["03.04.2026", "13.4.2026", "soon"]), command_line)
    'add --time-format "%d.%m.%Y"'
    """
    import pyarrow as pa

    shapes = [re.sub("[0-9]+", "0", text) for text in texts]
    shape, number = Counter(shapes).most_common(1)[0]
    alike = [text for text, other in zip(texts, shapes, strict=True) if other == shape]
    order = DayOrder().after(pa.array(alike, pa.string()))
    written = time_format({"name": column, "type": "text", "first": alike}, order)
    if not written or 2 * number <= len(texts):
        return None
    return _doubt(written, order) or f"add {param.time_format(_quoted(written))}"


def _quoted(pattern: str) -> str:
    """Write a pattern as shells need it."""
    return f'"{pattern}"'
