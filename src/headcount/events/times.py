"""Times: how a column says when something happened, and the weekday, hour and month of it.

Timestamps and ISO 8601 text are understood. A bare number could be anything, so it needs a format. Times that
carry no zone are wall-clock times of the zone in use; epoch numbers and times with an offset are instants and
are shown in that zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import DataError, UsageError
from headcount.events.formats import is_text, plain_type

Part = Literal["weekday", "hour", "month"]

LABELS: dict[str, tuple[str, ...]] = {
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour": tuple(str(hour) for hour in range(24)),
    "month": tuple(
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ]
    ),
}
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_HELP = "give --time-format s, ms, us, min@ORIGIN or a strptime pattern such as '%d.%m.%Y %H:%M'"


@dataclass(frozen=True)
class TimeFormat:
    """How times are written (``None``: timestamps or ISO 8601) and in which zone they are read.

    >>> array = TimeFormat("s").read(pa.array([0, 86_400]), "time")
    >>> part_of(array, "weekday").to_pylist()     # 1 January 1970 was a Thursday
    [3, 4]
    """

    pattern: str | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except (KeyError, ValueError, OSError) as error:
                raise UsageError(
                    "unknown time zone", given=self.zone, remedy="for example Europe/Zurich"
                ) from error
        if self.pattern is not None and self.pattern.startswith("min@"):
            self._origin()

    def read(self, column: pa.Array, name: str) -> pa.Array:
        """Return the column as timestamps, with a zone if they are instants."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if pa.types.is_timestamp(kind):
            return self._in_zone(column)
        if pa.types.is_date(kind):
            return column.cast(pa.timestamp("s"))
        if self.pattern in _UNITS or (self.pattern or "").startswith("min@"):
            return self._in_zone(self._from_number(column, name))
        if is_text(kind):
            return self._in_zone(self._from_text(column.cast(pa.string()), name))
        if pa.types.is_null(kind):
            return column.cast(pa.timestamp("s"))
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            raise DataError(f"column {name!r} holds bare numbers where times are needed", remedy=_HELP)
        raise DataError(f"column {name!r} holds {plain_type(kind)} where times are needed", remedy=_HELP)

    def read_one(self, text: str, option: str) -> datetime:
        """Read one public moment, given as ISO 8601 text, as an instant."""
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise UsageError(
                f"{option} must be an ISO 8601 time", given=text, remedy="for example 2026-03-01"
            ) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self.zone or "UTC"))

    def instants(self, column: pa.Array, name: str) -> pa.Array:
        """Return the column as UTC instants, to be compared."""
        times = self.read(column, name)
        if times.type.tz is None:
            times = pc.assume_timezone(times, self.zone or "UTC", ambiguous="earliest", nonexistent="earliest")
        return times.cast(pa.timestamp("us", "UTC"), safe=False)

    def _in_zone(self, times: pa.Array) -> pa.Array:
        if self.zone is not None and times.type.tz is not None:
            return times.cast(pa.timestamp(times.type.unit, self.zone))
        return times

    def _from_number(self, column: pa.Array, name: str) -> pa.Array:
        try:
            numbers = column.cast(pa.float64() if pa.types.is_floating(column.type) else pa.int64())
            factor = _UNITS.get(self.pattern or "", 60_000_000)
            micros = pc.cast(pc.multiply_checked(numbers, factor), pa.int64(), safe=False)
        except pa.ArrowInvalid as error:
            bad = _first_bad(column, lambda text: re.fullmatch(r"-?\d+", text.strip()))
            raise DataError(
                f"column {name!r} holds {bad!r}, which is not a number", remedy="correct --time-format"
            ) from error
        if (self.pattern or "").startswith("min@"):
            micros = pc.add(micros, int(self._origin().timestamp() * 1_000_000))
        return micros.cast(pa.timestamp("us", "UTC"))

    def _from_text(self, column: pa.Array, name: str) -> pa.Array:
        if self.pattern is not None:
            return self._by_pattern(column, name)
        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                return column.cast(kind)
            except pa.ArrowInvalid:
                continue
        bad = _first_bad(column, _is_iso)
        if bad is None:
            raise DataError(
                f"column {name!r} mixes times with and without a zone offset", remedy="write them all alike"
            )
        raise DataError(f"column {name!r} holds {bad!r}, which is not an ISO 8601 time", remedy=_HELP)

    def _by_pattern(self, column: pa.Array, name: str) -> pa.Array:
        pattern = str(self.pattern)
        values = []
        for text in column.to_pylist():
            try:
                values.append(None if text is None else datetime.strptime(text, pattern))  # noqa: DTZ007
            except ValueError as error:
                raise DataError(
                    f"column {name!r} holds {text!r}, which does not match {pattern!r}", remedy=_HELP
                ) from error
        aware = any(value is not None and value.tzinfo for value in values)
        return pa.array(values, pa.timestamp("us", "UTC" if aware else None))

    def _origin(self) -> datetime:
        text = str(self.pattern).removeprefix("min@")
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise UsageError(
                "the origin in --time-format min@ORIGIN must be an ISO 8601 time", given=text
            ) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def part_of(times: pa.Array, part: Part) -> pa.Array:
    """Return the position of each time in ``LABELS[part]``."""
    if part == "weekday":
        return pc.day_of_week(times)
    return pc.hour(times) if part == "hour" else pc.subtract(pc.month(times), 1)


def _first_bad(column: pa.Array, good: Any) -> str | None:
    return next((text for text in map(_text, column.to_pylist()) if text is not None and not good(text)), None)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
