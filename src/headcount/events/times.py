"""Times: how a column says when something happened, and the weekday, hour and month of it.

Timestamps and ISO 8601 text are understood. A bare number could be anything, so it needs a format. Times that
carry no zone are wall-clock times of the zone in use; epoch numbers and times with an offset are instants and
are shown in that zone. The zone in use is the one asked for, else the column's own, else UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import DataError, UsageError
from headcount.events.formats import is_text, plain_type, value_type

Part = Literal["weekday", "hour", "month"]

LABELS: dict[str, tuple[str, ...]] = {
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour": tuple(str(hour) for hour in range(24)),
    "month": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
        "November", "December",
    ),
}  # fmt: skip
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_HELP = "give --time-format s, ms, us, min@ORIGIN or a strptime pattern such as '%d.%m.%Y %H:%M'"
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")


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
                pc.hour(pa.scalar(0, pa.timestamp("s", self.zone)))
            except (KeyError, ValueError, OSError) as error:
                raise UsageError(
                    "unknown time zone", given=self.zone, remedy="for example Europe/Zurich"
                ) from error
        if self.pattern is not None and not self._is_number:
            self._check_pattern(self.pattern)
        elif self.pattern is not None and self.pattern.startswith("min@"):
            self._origin()

    @property
    def _is_number(self) -> bool:
        return self.pattern is not None and (self.pattern in _UNITS or self.pattern.startswith("min@"))

    def check(self, kind: pa.DataType, name: str) -> None:
        """Refuse a column that cannot hold times written like this, before any row is read."""
        kind = value_type(kind)
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            if self.pattern is not None:
                raise UsageError(
                    f"--time-format {self.pattern} does not fit column {name!r}, which holds {plain_type(kind)}",
                    remedy="leave it out",
                )
            return
        if is_text(kind) or pa.types.is_null(kind):
            return
        bare = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (bare and self._is_number):
            held = "bare numbers" if bare else plain_type(kind)
            raise DataError(f"column {name!r} holds {held} where times are needed", remedy=_HELP)

    def read(self, column: pa.Array, name: str) -> pa.Array:
        """Return the column as timestamps, with a zone if they are instants."""
        self.check(column.type, name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if pa.types.is_timestamp(kind):
            return self._in_zone(column)
        if pa.types.is_date(kind) or pa.types.is_null(kind):
            return column.cast(pa.timestamp("s"))
        if self._is_number:
            return self._in_zone(self._from_number(column, name))
        return self._in_zone(self._from_text(column.cast(pa.string()), name))

    def read_one(self, text: str, option: str) -> datetime:
        """Read one public moment, given as ISO 8601 text; without an offset it is a wall-clock time."""
        try:
            return datetime.fromisoformat(text)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"{option} must be an ISO 8601 time", given=text, remedy="for example 2026-03-01"
            ) from error

    def instants(self, column: pa.Array, name: str) -> pa.Array:
        """Return the column as instants, to be compared, in the zone in use."""
        times = self.read(column, name)
        try:
            times = times.cast(pa.timestamp("us", times.type.tz), safe=times.type.unit != "ns")
        except pa.ArrowInvalid as error:
            raise DataError(f"column {name!r} holds a time beyond all calendars", remedy="correct it") from error
        if times.type.tz is not None:
            return times
        return pc.assume_timezone(times, self.zone or "UTC", ambiguous="earliest", nonexistent="earliest")

    def instant(self, moment: datetime, zone: str | None) -> pa.Scalar:
        """Return one moment as an instant; without an offset it is a wall-clock time of the zone in use."""
        if moment.tzinfo is not None:
            return pa.scalar(moment, pa.timestamp("us", "UTC"))
        local = pa.scalar(moment, pa.timestamp("us"))
        return pc.assume_timezone(local, self.zone or zone or "UTC", ambiguous="earliest", nonexistent="earliest")

    def _in_zone(self, times: pa.Array) -> pa.Array:
        if self.zone is not None and times.type.tz is not None:
            return times.cast(pa.timestamp(times.type.unit, self.zone))
        return times

    def _from_number(self, column: pa.Array, name: str) -> pa.Array:
        try:
            numbers = _numbers(column)
        except pa.ArrowException as error:
            bad = _first_bad(column, lambda text: bool(_NUMBER.fullmatch(text)))
            raise DataError(
                f"column {name!r} holds {bad!r}, which is not a number", remedy="correct --time-format"
            ) from error
        origin = self._origin().timestamp() if self.pattern not in _UNITS else 0
        try:
            micros = pc.multiply_checked(numbers, _UNITS.get(str(self.pattern), 60_000_000))
            micros = pc.add_checked(pc.cast(pc.round(micros), pa.int64()), round(origin * 1_000_000))
        except pa.ArrowException as error:
            far = pc.max(pc.abs(numbers)).as_py()
            raise DataError(
                f"column {name!r} holds {far}, which --time-format {self.pattern} places beyond all calendars",
                remedy="correct --time-format",
            ) from error
        return micros.cast(pa.timestamp("us", "UTC"))

    def _from_text(self, column: pa.Array, name: str) -> pa.Array:
        if self.pattern is not None:
            pattern = self.pattern
            return self._one_by_one(
                column, name, lambda text: _by_pattern(text, pattern), f"does not match {pattern!r}"
            )
        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                return column.cast(kind)
            except pa.ArrowInvalid:
                continue
        return self._one_by_one(column, name, _from_iso, "is not an ISO 8601 time")

    def _one_by_one(
        self, column: pa.Array, name: str, read: Callable[[str], datetime], otherwise: str
    ) -> pa.Array:
        coded = column.dictionary_encode()
        values: list[datetime] = []
        for text in coded.dictionary.to_pylist():
            try:
                values.append(read(text))
            except ValueError as error:
                raise DataError(f"column {name!r} holds {text!r}, which {otherwise}", remedy=_HELP) from error
        aware = any(value.tzinfo for value in values)
        zone = ZoneInfo(self.zone or "UTC")
        if aware:
            values = [value if value.tzinfo else value.replace(tzinfo=zone) for value in values]
        try:
            return pa.array(values, pa.timestamp("us", "UTC" if aware else None)).take(coded.indices)
        except OverflowError as error:
            raise DataError(f"column {name!r} holds a time beyond all calendars", remedy="correct it") from error

    def _check_pattern(self, pattern: str) -> None:
        try:
            _by_pattern("", pattern)
        except ValueError as error:
            if "%" in pattern and "does not match format" in str(error):
                return
        raise UsageError(
            "--time-format must be s, ms, us, min@ORIGIN or a strptime pattern",
            given=pattern,
            remedy="for example '%d.%m.%Y %H:%M'",
        )

    def _origin(self) -> datetime:
        text = str(self.pattern).removeprefix("min@")
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise UsageError(
                "the origin in --time-format min@ORIGIN must be an ISO 8601 time",
                given=text,
                remedy="for example min@2012-01-01",
            ) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self.zone or "UTC"))


def part_of(times: pa.Array, part: Part) -> pa.Array:
    """Return the position of each time in ``LABELS[part]``."""
    if part == "weekday":
        return pc.day_of_week(times)
    return pc.hour(times) if part == "hour" else pc.subtract(pc.month(times), 1)


def _numbers(column: pa.Array) -> pa.Array:
    """Return numbers, or text that holds some; what is not a number in floating point is missing."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    if is_text(column.type):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    numbers = column.cast(pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))


def _by_pattern(text: str, pattern: str) -> datetime:
    return datetime.strptime(text, pattern)  # noqa: DTZ007  (a wall-clock time of the zone in use)


def _from_iso(text: str) -> datetime:
    if text.isdigit():
        raise ValueError(text)  # a bare number could be anything
    return datetime.fromisoformat(text)


def _first_bad(column: pa.Array, good: Callable[[str], bool]) -> str | None:
    texts = (None if value is None else str(value) for value in column.to_pylist())
    return next((text for text in texts if text is not None and not good(text)), None)
