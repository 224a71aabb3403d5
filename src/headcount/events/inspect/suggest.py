"""Suggest columns, time formats and number notations from names, types and first values; curator only.

A suggestion is for the curator, who sees the raw data and corrects it: nothing is released because of one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import DataError, Parameter, param
from headcount.events.encode.text_columns import is_text, plain_type, sound_batch
from headcount.events.notation import PLAIN, Notation, Notations
from headcount.events.sources.files.file_source import FileSource
from headcount.events.sources.files.scalar import numbers
from headcount.events.sources.source import Source

Progress = Callable[[str, int, int | None], None]

_ROWS = 3
_TEXTS = 1_000
"""So many values of a text column show how its numbers are written."""

_USERS = (
    "user", "user_id", "userid", "uid", "customer", "customer_id", "visitor", "member", "person", "who", "account",
)  # fmt: skip
_ITEMS = (
    "item", "item_id", "venue", "product", "stock", "sku", "movie", "film", "artist", "track", "page", "resource",
    "what", "title", "place", "url",
)  # fmt: skip
_USER_TABLE_COLUMNS = 4
"""From so many columns on, without a usual name for items and without times, a row is a user."""

_DELIMITERS = {";": ";", "\t": "\\t", "|": "|"}
"""Delimiters beside a comma, and their flag values."""

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
    """The likely content of a file: events, or one user in each row; and the roles of its columns.

    ``time_format`` is the format of ``when``, None for ISO 8601; ``numbers`` is the notation of text columns.
    ``doubt`` is for the curator to check.
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
    """Which of the first two numbers of dates such as 01/12/2010 is above 12 somewhere, so is no month."""

    first: bool = False
    second: bool = False

    def after(self, column: pa.Array) -> DayOrder:
        """Return the order after more values of the column."""
        texts = column.cast(pa.large_string())
        patterns = rf"^\s*{_NO_MONTH}[/.-]", rf"^\s*[0-9]{{1,2}}[/.-]{_NO_MONTH}[/.-]"
        flags = (
            above or bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())
            for above, pattern in zip((self.first, self.second), patterns, strict=True)
        )
        return DayOrder(*flags)

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
    columns: Sequence[Mapping[str, Any]], days: Mapping[str, DayOrder], texts: Mapping[str, Sequence[str]] = {}
) -> Guess:
    """Guess what columns hold, as they were previewed, and how ``texts`` of them write numbers.

    >>> named = ({"name": name, "type": "text", "first": ["tea"]} for name in ("who", "what"))
    >>> guess(list(named), {})
    Guess(reads='events', user='who', item='what', when=None, time_format=None, doubt=None, numbers={})
    """
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
    user = _named_like(untimely, _USERS)
    item = _named_like([name for name in untimely if name != user], _ITEMS)
    user = user or next((name for name in untimely if name.lower() == "id"), None)
    if not times and item is None and len(columns) >= _USER_TABLE_COLUMNS:
        return Guess("people", user)
    candidates = [*untimely, *ids]
    user = user or next((name for name in candidates if name != item), None)
    item = item or next((name for name in candidates if name != user), None)
    when = next((name for name in times if name not in (user, item)), None)
    if when is None:
        return Guess("events", user, item)
    doubt = _day_month_doubt(times[when], days.get(when))
    return Guess("events", user, item, when, times[when] or None, doubt and f"In {when!r}, {doubt}.")


def _named_like(names: list[str], usual: tuple[str, ...]) -> str | None:
    """Return the column with a usual name, or else the first with a usual name in its own."""
    exact = (name for word in usual for name in names if name.lower() == word)
    similar = (name for name in names for word in usual if word in name.lower())
    return next(exact, None) or next(similar, None)


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
        if all("-" in value and _is_time(value) for value in values):
            return ""
        for pattern in filter(order.allows, _PATTERNS):
            if all(_is_time(value, pattern) for value in values):
                return pattern
    timely = any(word in column["name"].lower() for word in ("time", "date", "when", "stamp", "_at"))
    units = {_UNITS.get(len(value)) if value.isdecimal() else None for value in values}
    return units.pop() if timely and len(units) == 1 else None


def _day_month_doubt(written: str, order: DayOrder | None) -> str | None:
    """Say that nothing tells days from months, where that is so."""
    other = written[:6].translate(_SWAPPED) + written[6:]
    if order is None or order.first or order.second or other not in _PATTERNS:
        return None
    first = param.time_format(_quoted(written))
    return f'nothing tells whether the day or the month comes first: choose {first} or "{other}"'


def _is_time(value: str, pattern: str | None = None) -> bool:
    """Tell whether a text is a time in a pattern, or in ISO 8601."""
    try:
        if pattern is None:
            datetime.fromisoformat(value)
        else:
            datetime.strptime(value.strip(), pattern)  # noqa: DTZ007 - whether it is one, not when
    except ValueError:
        return False
    return True


def time_remedy(column: str, texts: Sequence[str]) -> str | None:
    """Say which time format reads most of some texts that are not read.

    >>> from headcount.errors import command_line, render
    >>> render(time_remedy("day", ["03.04.2026", "13.4.2026", "soon"]), command_line)
    'add --time-format "%d.%m.%Y"'
    """
    shapes = [re.sub("[0-9]+", "0", text) for text in texts]
    shape, number = Counter(shapes).most_common(1)[0]
    alike = [text for text, other in zip(texts, shapes, strict=True) if other == shape]
    order = DayOrder().after(pa.array(alike, pa.string()))
    written = time_format({"name": column, "type": "text", "first": alike}, order)
    if not written or 2 * number <= len(texts):
        return None
    return _day_month_doubt(written, order) or f"add {param.time_format(_quoted(written))}"


def _quoted(pattern: str) -> str:
    """Write a pattern as shells need it."""
    return f'"{pattern}"'


_OTHER_THOUSANDS = ("'", "\u2019", " ", "\u00a0", "\u202f")
_CANDIDATES = (
    PLAIN,
    Notation(".", ","),
    Notation(","),
    Notation(",", "."),
    *(Notation(decimal, thousands) for decimal in ".," for thousands in _OTHER_THOUSANDS),
)


def guess_notations(texts: Sequence[str]) -> list[Notation]:
    """Return the notations that read the most of some texts, one for each reading; none unless most are numbers.

    >>> guess_notations(["1.234,50", "15,30", "n/a"])
    [Notation(decimal=',', thousands='.')]
    >>> guess_notations(["1,234", "7"])
    [Notation(decimal='.', thousands=','), Notation(decimal=',', thousands=None)]
    >>> guess_notations(["tea", "7"])
    []
    """
    column = pa.array(texts, pa.string())
    most, readings = len(texts) // 2 + 1, dict[bytes, Notation]()
    for notation in _CANDIDATES:
        values, there = numbers(notation.plain(column))
        if (number := int(there.sum())) > most:
            most, readings = number, {}
        if number == most:
            readings.setdefault(values.tobytes() + there.tobytes(), notation)
    return list(readings.values())


def guess_numbers(texts: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Return ``--decimal`` and ``--thousands`` for columns with these texts, and doubts about them.

    >>> guess_numbers({"paid": ["15,30"], "age": ["7"]}), guess_numbers({"paid": ["15,30"], "rate": ["0.5"]})
    (({'decimal': [',']}, []), ({'decimal': ['paid=,']}, []))
    """
    guesses = {name: notations for name, column in texts.items() if (notations := guess_notations(column))}
    doubts = [
        f"In {name!r}, {_notation_doubt(name, notations)}."
        for name, notations in guesses.items()
        if len(notations) > 1
    ]
    other = {name: notations[0] for name, notations in guesses.items() if notations[0] != PLAIN}
    general = next(iter(other.values()), PLAIN)
    if all(_same_numbers(texts[name], notations[0], general) for name, notations in guesses.items()):
        other = {"": general}
    return Notations.of_columns(other).describe(), doubts


def _same_numbers(texts: Sequence[str], *notations: Notation) -> bool:
    column = pa.array(texts, pa.string())
    readings = [np.concatenate(numbers(notation.plain(column))) for notation in notations]
    return all(np.array_equal(readings[0], reading) for reading in readings)


def _notation_doubt(column: str, notations: Sequence[Notation]) -> str:
    """Name the notations that a column may have.

    >>> from headcount.errors import command_line, render
    >>> print(render(_notation_doubt("n", guess_notations(["1,234"])), command_line))
    its decimal point may be a thousands separator: choose --thousands "n=," or --decimal "n=,"
    """
    ways = " or ".join(_notation_flags(column, notation) or "no flag" for notation in notations)
    return f"its decimal point may be a thousands separator: choose {ways}"


def notation_remedy(column: str, texts: Sequence[str]) -> str | None:
    """Say which flags read the numbers in texts that are not read."""
    notations = [notation for notation in guess_notations(texts) if notation != PLAIN]
    if len(notations) > 1:
        return _notation_doubt(column, notations)
    return f"add {_notation_flags(column, notations[0])}" if notations else None


def _notation_flags(column: str, notation: Notation) -> str:
    described = Notations.of_columns({column: notation}).describe()
    return " ".join(str(Parameter(flag, f'"{mark}"')) for flag, marks in described.items() for mark in marks)


class Preview(NamedTuple):
    """The columns and first rows of a source; ``rows`` were read, and ``whole`` says whether that is all."""

    source: str
    rows: int
    columns: list[dict[str, Any]]
    days: dict[str, DayOrder]
    texts: dict[str, list[str]]
    whole: bool = True


def preview(source: Source, progress: Progress | None = None, *, most: int | None = None) -> Preview:
    """Read rows, all or about ``most``: count nulls, keep three values, order days and months."""
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
