"""What a command has to be told to read a file: guessed from the names, types and values of its columns.

A guess is for the curator, who sees the raw data, corrects it and runs it. What is printed must run as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.events.readers import Source

_USERS = (
    "user", "user_id", "userid", "uid", "customer", "customer_id", "visitor", "member", "person", "who", "account",
)  # fmt: skip
_ITEMS = (
    "item", "item_id", "venue", "product", "stock", "sku", "movie", "film", "artist", "track", "page", "resource",
    "what", "title", "place", "url",
)  # fmt: skip
_PEOPLE = 4
"""So many columns, none of which is called as items are or holds times: a row is about a person."""

CATALOGUE, BINS, QUERIES = "catalogue.csv", "bins.toml", "queries.sql"
"""Names that are refused until there are such files: nothing but the curator can say what is public."""

_DELIMITERS = {";": ";", "\t": "\\t", "|": "|"}
"""What may part columns beside a comma, and how a flag says it."""

_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d/%m/%y", "%m/%d/%y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_PATTERNS = tuple(day + clock for day, clock in product(_DAYS, _CLOCKS))
_BOTH = re.compile(r"\s*[0-9]{1,2}[/.-][0-9]{1,2}[/.-]")
_NO_MONTH = "(1[3-9]|2[0-9]|3[01])"


class Suggestion(NamedTuple):
    """A command, what it is told to read, and what the curator should look at."""

    command: str
    read: list[str]
    doubt: str | None = None

    @property
    def parts(self) -> list[str]:
        """The command that releases."""
        out = "answers" if self.command == "query" else "release"
        return ["headcount", self.command, *self.read, "--epsilon", "1", "--out", out]


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

        def met(pattern: str) -> bool:
            return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())

        first = self.first or met(rf"^\s*{_NO_MONTH}[/.-]")
        return replace(self, first=first, second=self.second or met(rf"^\s*[0-9]{{1,2}}[/.-]{_NO_MONTH}[/.-]"))

    def allows(self, pattern: str) -> bool:
        """Tell whether dates in this order may be written so."""
        return not (self.first if pattern.startswith("%m") else self.second and pattern.startswith("%d"))


def begins_with_day_and_month(values: Iterable[str | None]) -> bool:
    """Tell whether texts begin with two short numbers.

    >>> begins_with_day_and_month(["01/12/2010 08:26"]), begins_with_day_and_month(["2010-12-01"])
    (True, False)
    """
    there = [each for each in values if each is not None]
    return bool(there) and all(_BOTH.match(each) for each in there)


def well_parted(source: Source) -> tuple[Source, str | None]:
    """Return a file as the delimiter reads it that makes most columns of it, and that delimiter if not a comma."""
    from headcount.events.readers import FileSource

    if not isinstance(source, FileSource) or source.format != "csv" or source.text.delimiter is not None:
        return source, None
    best, said = source, None
    for delimiter, flag in _DELIMITERS.items():
        other = replace(source, text=replace(source.text, delimiter=delimiter))
        try:
            if len(other.names) > len(best.names):
                best, said = other, flag
        except DataError:  # names that are missing or twice there: it parts something else
            continue
    return best, said


def look_through(
    source: Any, progress: Callable[[str, int, int | None], None], most: int | None = None
) -> tuple[dict[str, Any], dict[str, DayOrder]]:
    """Read every row: count what is missing, keep the first three, see how dates such as 01/12/2010 are meant.

    Once ``most`` rows were read, the rest is left alone.
    """
    from headcount.events.formats import is_text, plain_type
    from headcount.events.texts import sound_batch

    names = source.names
    nulls = dict.fromkeys(names, 0)
    first: dict[str, list[Any]] = {name: [] for name in names}
    days: dict[str, DayOrder] = {}
    rows = 0
    for batch in map(sound_batch, source.batches(names)):
        for name in names:
            column = batch.column(name)
            nulls[name] += column.null_count
            if len(first[name]) < 3:
                first[name] += column.slice(0, 3 - len(first[name])).to_pylist()
            if is_text(column.type) and begins_with_day_and_month(first[name]):
                days[name] = days.get(name, DayOrder()).after(column)
        rows += batch.num_rows
        progress("reading events", rows, source.rows)
        if most is not None and rows >= most:
            break
    columns = [
        {
            "name": name,
            "type": plain_type(source.type_of(name)),
            "nulls": nulls[name],
            "first": [None if value is None else str(value) for value in first[name]],
        }
        for name in names
    ]
    return {"source": source.name, "rows": rows, "columns": columns}, days


def suggestion(
    events: list[str], columns: list[dict[str, Any]], days: dict[str, DayOrder], text_flags: list[str]
) -> Suggestion:
    """Suggest a command for columns as they were surveyed; ``text_flags`` say how text is written."""
    ids = [each["name"] for each in columns if each["type"] == "text" or "int" in each["type"]]
    times = {
        each["name"]: flags
        for each in columns
        if (flags := time_flags(each, days.get(each["name"], DayOrder()))) is not None
    }
    untimely = [name for name in ids if name not in times]
    user = _guess(untimely, _USERS)
    item = _guess([name for name in untimely if name != user], _ITEMS)
    user = user or _called(untimely, "id")
    if not times and item is None and len(columns) >= _PEOPLE:
        own = [] if user is None else ["--user", user]
        return Suggestion("query", [*events, *own, *text_flags, "--bins", BINS, "--queries", QUERIES])
    user = user or _first([*untimely, *ids], item)
    item = item or _first([*untimely, *ids], user)
    parts = [*events, "--user", user, "--item", item]
    when = next((name for name in times if name not in (user, item)), None)
    doubt = None
    if when is not None:
        parts += ["--context", f"weekday:{when}", *times[when]]
        doubt = _doubt(when, times[when], days.get(when))
    return Suggestion("release", [*parts, *text_flags, "--items", CATALOGUE], doubt)


def time_flags(column: dict[str, Any], order: DayOrder = DayOrder()) -> list[str] | None:  # noqa: B008 - frozen
    """Return the flags that a column needs to be read as times, or None if it holds none, by its first values.

    >>> time_flags({"name": "InvoiceDate", "type": "text", "first": ["1/12/2010 8:26"]})
    ['--time-format', '%d/%m/%Y %H:%M']
    """
    if column["type"].startswith(("timestamp", "date")):
        return []
    values = [value for value in column["first"] if value is not None]
    if not values or not (column["type"] == "text" or "int" in column["type"]):
        return None
    if column["type"] == "text":
        if all(_is_iso(value) for value in values):
            return []
        fitting = [
            each for each in _PATTERNS if order.allows(each) and all(_fits(value, each) for value in values)
        ]
        if fitting:
            return ["--time-format", fitting[0]]
    timely = any(word in column["name"].lower() for word in ("time", "date", "when", "stamp", "_at"))
    units = {10: "s", 13: "ms", 16: "us"}
    lengths = {len(value) if value.isdecimal() else 0 for value in values}
    unit = units.get(lengths.pop()) if len(lengths) == 1 else None
    return ["--time-format", unit] if timely and unit else None


def _doubt(name: str, flags: Sequence[str], order: DayOrder | None) -> str | None:
    """Say that nothing in the file tells days from months, where that is so."""
    if order is None or order.first or order.second or not flags:
        return None
    return f"In {name!r} nothing tells whether the day or the month comes first: see to --time-format."


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
    exact = next((found for each in usual if (found := _called(names, each)) is not None), None)
    return exact or next((name for name in names for each in usual if each in name.lower()), None)


def _called(names: list[str], wanted: str) -> str | None:
    return next((name for name in names if name.lower() == wanted), None)


def _first(names: list[str], taken: str | None) -> str:
    return next((name for name in names if name != taken), "COL")
