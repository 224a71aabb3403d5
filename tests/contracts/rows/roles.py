"""Column roles with their hostile values, and cases of both in every format.

A case is two groups of people: some ordinary ones, whose fields lie where a reader that looks at other rows would
read them otherwise; and some others, one of whom wrote a hostile field or line.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contracts.rows import hostile_values
from tests.contracts.rows.hostile_values import Field, Line
from tests.contracts.rows.raw_files import FORMATS, Format, Row
from tests.contracts.support.measurements import MEASUREMENTS, Kind

ISO = (
    "2026-03-06T10:00:00", "2040-07-01T12:30:00", "2026-03-29T02:30:00", "2026-10-25T02:30:00",
    "2026-03-08T02:30:00", "2026-11-01T01:30:00", "2026-03-06", "2026-03-06T10:00:00.25", "2040-07-01 23:59",
)  # fmt: skip
PATTERN = (
    "06.03.2026 10:00", "01.07.2040 12:30", "29.03.2026 02:30", "25.10.2026 02:30", "08.03.2026 02:30",
    "01.11.2026 01:30", "31.12.2039 23:30",
)  # fmt: skip
HOURS = 3_600_000_000 * 10_000_008
MICROS = (str(HOURS - 1), str(HOURS), "1772791200000000", str(HOURS + 1))
"""Just before an hour so far away that floating point takes it for the hour."""
PLAIN = ("1772791200", "2147483647", "1774746000", "4102444800")
BIG = ("17", "9007199254740993", "9007199254740992", "9007199254750000")
"""Whole numbers that are equal in floating point."""

ORDINARY: Mapping[str, Sequence[str]] = {
    "item": ("tea", "rye", "oat", "fig"), "place": ("F", "M", "X"), "when": ISO, "stars": ("5", "1", "3", "4"),
    "many": ("1", "2", "3"), "age": ("17", "18", "40", "64", "7"),
}  # fmt: skip


@dataclass(frozen=True)
class Role:
    """A column, what is read and measured of it, and what ordinary people write."""

    name: str
    column: str
    measurement: str
    fields: tuple[Field, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    ordinary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    types: bool = True  # whether the column may have a declared type

    @property
    def kind(self) -> Kind:
        """What the log is read for."""
        return MEASUREMENTS[self.measurement].kind

    def spellings(self, column: str) -> Sequence[str]:
        """What ordinary people write in a column."""
        return self.ordinary.get(column) or ORDINARY[column]


_ANY, _NUMBER, _TIME = (
    hostile_values.TEXTS,
    hostile_values.TEXTS + hostile_values.NUMBERS,
    hostile_values.TEXTS + hostile_values.TIMES,
)
_EPOCH = hostile_values.TEXTS + hostile_values.NUMBERS + hostile_values.TIMES[:2]
_AGES = ("17,5", "18,5", "1.018", "64")
_ZURICH, _NEW_YORK = {"timezone": "Europe/Zurich"}, {"timezone": "America/New_York"}
_SELECTED = {"context": "place", "select_contexts": True}
_SINCE, _UNTIL = {"time": "when", "since": "2026-03-06T10:00:00"}, {"time": "when", "until": "2040-07-01T12:00:00"}


def _written(
    name: str, column: str, measurement: str, spellings: Sequence[str], options: Mapping[str, Any] | None = None
) -> Role:
    options = {"decimal": ",", "thousands": ".", **(options or {})}
    return Role(name, column, measurement, hostile_values.NOTATION, options, {column: spellings}, types=False)


def _timed(name: str, options: Mapping[str, Any], when: Sequence[str] = ISO) -> Role:
    fields = _TIME if when in (ISO, PATTERN) else _EPOCH
    return Role(name, "when", "sample, no context", fields, options, {"when": when}, types=when is ISO)


ROLES: Mapping[str, Role] = {
    role.name: role
    for role in (
        Role("user", "user", "sample", _NUMBER),
        Role("item", "item", "sample", _ANY),
        Role("item, numbers", "item", "sample", _NUMBER, {"items": [1, 2, 7]}, {"item": ("1", "2", "7", "8")}),
        Role("item, selected", "item", "support", _ANY),
        Role("item, selected numbers", "item", "support", _NUMBER, {}, {"item": ("1", "2", "7", "8")}),
        Role("context", "place", "sample", _ANY),
        Role("context, selected", "place", "support of contexts", _ANY, _SELECTED),
        Role(
            "context, selected numbers",
            "age",
            "support of contexts",
            _NUMBER,
            {**_SELECTED, "context": "age"},
            {"age": ("17", "18")},  # so few that all are selected, whatever the noise
        ),
        Role("item, contexts selected", "item", "spread of contexts of listed items", _ANY, _SELECTED),
        Role("context, numbers", "age", "sample", _NUMBER, {"context": "age", "contexts": "7,17,18"}),
        Role("context of user", "place", "sample, context of user", _ANY),
        _timed("weekday", {"context": "weekday:when"}),
        _timed("hour in Zurich", {"context": "hour:when"} | _ZURICH),
        _timed("hour in New York", {"context": "hour:when"} | _NEW_YORK),
        _timed("month by a pattern", {"context": "month:when", "time_format": "%d.%m.%Y %H:%M"}, PATTERN),
        _timed(
            "hour by a pattern in Zurich",
            {"context": "hour:when", "time_format": "%d.%m.%Y %H:%M"} | _ZURICH,
            PATTERN,
        ),
        _timed("hour in us", {"context": "hour:when", "time_format": "us"}, MICROS),
        _timed("weekday in s", {"context": "weekday:when", "time_format": "s"} | _NEW_YORK, PLAIN),
        _timed("hour in min", {"context": "hour:when", "time_format": "min@2012-01-01"}, PLAIN),
        _timed("since", _SINCE),
        _timed("since in Zurich", _SINCE | _ZURICH),
        _timed("until in New York", _UNTIL | _NEW_YORK),
        _timed("since in us", {"time": "when", "since": "3110-10-19T00:00:00", "time_format": "us"}, MICROS),
        Role("where a number", "age", "sample", _NUMBER, {"where": "age >= 18"}),
        Role("where a big number", "age", "sample", _NUMBER, {"where": "age > 9007199254740992"}, {"age": BIG}),
        Role("where a number is", "age", "sample", _NUMBER, {"where": "age == 7"}),
        Role("where a text is", "place", "sample, no context", _ANY, {"where": "place == F"}),
        Role("where a text is not", "place", "sample, no context", _ANY, {"where": "place != F"}),
        Role("where a text is above", "place", "sample, no context", _ANY, {"where": "place > 'F'"}),
        Role("where a user", "user", "sample", _ANY, {"where": "user != a1"}, types=False),
        Role("times", "many", "sample, times", _NUMBER),
        Role("value", "stars", "totals", _NUMBER),
        _written("value with a comma", "stars", "totals", ("1,5", "4", "3,25", "1.234,5")),
        _written("times with thousands", "many", "sample, times", ("1", "2.000", "1.234.567", "7")),
        _written("where with a comma", "age", "sample", _AGES, {"where": "age >= 18.5"}),
        _written("bins with a comma", "age", "cells, groups", _AGES),
        Role("value without a catalogue", "stars", "totals, no catalogue", _NUMBER),
        Role("rating", "stars", "offsets, l2", _NUMBER),
        Role("bins of numbers", "age", "cells, groups", _NUMBER),
        Role("bins of values", "place", "cells", _ANY),
        Role("bins and other", "place", "cells, groups, other", _ANY),
        Role("group", "home", "cells, groups", _NUMBER),
        Role("tag", "place", "tags, l2", _ANY),
        Role("resource", "item", "tags, l1", _ANY),
    )
}

LINE_ROLES = ("item", "item, selected", "hour in Zurich", "value", "bins of numbers", "tag")
"""Roles with which hostile lines are read: one of each kind of log."""


@dataclass(frozen=True)
class Case:
    """One hostile field or line, in one role and one format."""

    format: Format
    role: Role
    field: Field | None
    line: tuple[str, Line] | None = None

    @property
    def name(self) -> str:
        """The names of all three."""
        what = self.field.name if self.field is not None else self.line[0] if self.line else "nothing"
        return f"{self.format.name}-{self.role.name}-{what}"

    @property
    def number(self) -> int:
        """A number that hangs on the name alone."""
        return zlib.crc32(self.name.encode())

    def ordinary(self) -> list[Row]:
        """The rows of people who wrote nothing odd."""
        return [self.row(f"a{number // 3}", number) for number in range(9)]

    def others(self) -> list[Row]:
        """The rows of some others, the hostile one first."""
        sound = [self.row("b1", 1), self.row("b1", 2), self.row("b0", 3)]
        if self.line is not None:
            return [Row(sound[0].cells, self.line[1], self.role.column), *sound]
        if self.field is None:
            return sound
        return [Row({**sound[0].cells, self.role.column: self.field}), *sound]

    def orders(self) -> Iterator[tuple[str, list[Row]]]:
        """Both groups together, one before the other and in no order."""
        ordinary, others = self.ordinary(), self.others()
        yield "the others first", others + ordinary
        yield "the others last", ordinary + others[::-1]
        mixed = ordinary + others
        random.Random(self.number).shuffle(mixed)
        yield "mixed", mixed

    def row(self, user: str, number: int) -> Row:
        """Return an ordinary row of a user."""
        columns = {name: self.role.spellings(name) for name in ORDINARY}
        cells: dict[str, str] = {name: spellings[number % len(spellings)] for name, spellings in columns.items()}
        return Row({"user": user, "home": f"h{user[0]}{number % 2}", **cells})


def crowd(role: Role, people: int = 40) -> list[Row]:
    """Return the rows of many people who write nothing odd."""
    case = Case(FORMATS["csv"], role, None)
    return [case.row(f"a{number // 3}", number // 3 + number % 3 * 5) for number in range(3 * people)]


def begins_a_row(kind: Format, field: Field) -> bool:
    """Say whether what follows a line break counts as a row, in the name of whoever its first cell says.

    Then people of both groups would write in the name of the same one (docs/known-limits.md). Where there is a
    header, so short a row does not count.
    """
    return (
        kind.shape == "csv"
        and not kind.header
        and any(character in str(field.spellings["csv"]) for character in "\r\n")
    )


def fields_of(kind: Format, role: Role) -> tuple[Field, ...]:
    """Return the fields that a format can hold in a role."""
    if role.fields is hostile_values.NOTATION:  # the other roles of numbers have the rest
        return () if kind.shape == "typed" else role.fields
    own: Mapping[str, tuple[Field, ...]] = {
        "csv": hostile_values.CSV_CELLS, "json": hostile_values.JSON_LITERALS, "python": hostile_values.OBJECTS,
        "arrow": hostile_values.ARROW_BYTES, "typed": hostile_values.TYPED.get(role.column, ()) if role.types else
        (),
    }  # fmt: skip
    if kind.shape == "typed":
        return own["typed"]
    if kind.name.split()[0] in ("polars", "duckdb"):  # hold text that is UTF-8 alone
        return role.fields
    if kind.name.split()[0] == "postgresql":  # and no NUL either
        return tuple(field for field in role.fields if "\0" not in str(field.spellings["arrow"]))
    return role.fields + own[kind.shape]


def every_case() -> Iterator[Case]:
    """Yield all formats with all roles and their fields, and hostile lines with some roles."""
    for kind, role in itertools.product(FORMATS.values(), ROLES.values()):
        if kind.packs and role.kind not in ("counts", "tags"):
            continue  # a store holds items and contexts alone
        if role.name == "hour in Zurich" and kind.shape == "typed":
            yield Case(kind, role, None)
        yield from (Case(kind, role, field) for field in fields_of(kind, role))
        lines = {"csv": hostile_values.CSV_LINES, "json": hostile_values.JSON_LINES}.get(kind.shape, {})
        if role.name in LINE_ROLES:
            yield from (Case(kind, role, None, line) for line in lines.items())
