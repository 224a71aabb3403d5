"""Time columns: parse timestamps and texts, convert between zones, and derive weekday, hour and month.

Timestamps and ISO 8601 text are understood. A bare number could be anything, so it needs a format. Times without a
zone are wall-clock times of the zone in use; epoch numbers and times with an offset are instants and are shown in
that zone. The zone in use is the requested one, else the column's own, else UTC.

Each value is read by itself. What is no time, or lies outside the years 1 to 9999, is missing.

Offsets are those of Python's :mod:`zoneinfo`, looked up once for each quarter of an hour that occurs: since 1972
clocks have changed at whole quarters alone. Of an hour that a clock showed twice the first is meant; an hour that
was skipped is read as if the clock had not been changed yet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Integers
from headcount.errors import DataError, UsageError, param
from headcount.events.encode.text_columns import is_textual, plain_type, value_type
from headcount.events.sources.files.kernels import scalar
from headcount.events.sources.files.scalar import (
    EPOCH,
    FIRST,
    LAST,
    MICROSECOND,
    Moments,
    iso_times,
    numbers,
    times_by,
    whole_numbers,
)

Part = Literal["weekday", "hour", "month"]

LABELS: dict[str, tuple[str, ...]] = {
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour": tuple(str(hour) for hour in range(24)),
    "month": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
        "November", "December",
    ),
}  # fmt: skip
_PLACES = {part: place for place, part in enumerate(LABELS)}
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_HELP = f"give {param.time_format} s, ms, us, min@ORIGIN or a strptime pattern such as '%d.%m.%Y %H:%M'"


@dataclass(frozen=True)
class TimeFormat:
    """How times are written (``None``: timestamps or ISO 8601) and in which zone they are read.

    >>> TimeFormat("s").part(pa.array([0, 86_400, None]), "weekday").tolist()     # 1 January 1970 was a Thursday
    [3, 4, -1]
    """

    pattern: str | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        if self.zone is not None:
            zone_named(self.zone)
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
                    f"{param.time_format} {self.pattern} does not fit column {name!r}, which holds "
                    f"{plain_type(kind)}",
                    remedy="leave it out",
                )
            if pa.types.is_timestamp(kind) and kind.tz is not None:
                zone_named(kind.tz)
            return
        if is_textual(kind):
            return
        bare = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (bare and self._is_number):
            held = "bare numbers" if bare else plain_type(kind)
            raise DataError(f"column {name!r} holds {held} where times are needed", remedy=_HELP)

    def part(self, column: pa.Array, part: Part) -> Codes:
        """Return the position of each time in ``LABELS[part]``, or -1 where there is none."""
        moments = self._read(column)
        clocks = zone_named(self._zone_of(column.type))
        shown = moments.micros
        if clocks is not None and moments.instant.any():
            shown = shown.copy()
            shown[moments.instant] = clocks.shown(moments.micros[moments.instant])
        codes = np.empty(shown.size, dtype=np.int32)
        scalar.part(shown, moments.there, _PLACES[part], codes)
        return codes

    def instants(self, column: pa.Array) -> tuple[Integers, NDArray[np.bool_]]:
        """Return the moments of a column in microseconds since 1970, and where there is one."""
        moments = self._read(column)
        clocks = zone_named(self._zone_of(column.type))
        micros = moments.micros
        if clocks is not None and not moments.instant.all():
            micros = micros.copy()
            micros[~moments.instant] = clocks.meant(moments.micros[~moments.instant])
        return micros, moments.there

    def instant(self, moment: datetime, kind: pa.DataType) -> int:
        """Return one public moment likewise; without an offset it is a wall-clock time of the zone in use."""
        micros = (moment.replace(tzinfo=None) - EPOCH) // MICROSECOND
        offset = moment.utcoffset()
        if offset is not None:
            return micros - offset // MICROSECOND
        clocks = zone_named(self._zone_of(kind))
        return micros if clocks is None else int(clocks.meant(np.array([micros]))[0])

    def _zone_of(self, kind: pa.DataType) -> str:
        own = kind.tz if pa.types.is_timestamp(kind) else None
        return self.zone or own or "UTC"

    def _read(self, column: pa.Array) -> Moments:
        """Read each value of a column whose type was checked."""
        kind = column.type
        if pa.types.is_null(kind):
            column = column.cast(pa.string())
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return stamped(column)
        if self._is_number:
            return self._from_number(column)
        if self.pattern is None:
            return iso_times(column)
        pattern = self.pattern
        return times_by(column, lambda text: datetime.strptime(text.strip(), pattern))  # noqa: DTZ007

    def _from_number(self, column: pa.Array) -> Moments:
        """Count from the origin: whole numbers exactly, others to the nearest microsecond."""
        unit = _UNITS.get(str(self.pattern), 60_000_000)
        origin = 0 if self.pattern in _UNITS else self._origin()
        if is_textual(column.type):
            whole, is_whole = whole_numbers(column)
            value, there = numbers(column)
        else:
            whole, is_whole = _whole(column)
            fractions = column.cast(pa.float64(), safe=False)
            there = np.asarray(pc.fill_null(pc.is_finite(fractions), fill_value=False), dtype=bool)
            value = np.where(there, pc.fill_null(fractions, 0.0).to_numpy(zero_copy_only=False), 0.0)
        most = LAST - FIRST
        steps = np.where(there & (np.abs(value) <= most / unit), value, 0.0) * unit
        micros = np.rint(steps).astype(np.int64)
        exact = is_whole & (whole <= most // unit) & (whole >= -(most // unit))
        micros[exact] = whole[exact] * unit
        there = exact | (there & ~is_whole & (np.abs(value) <= most / unit))
        micros += origin
        there &= (micros >= FIRST) & (micros <= LAST)
        return Moments(np.where(there, micros, 0), there, np.ones(micros.size, dtype=bool))

    def _check_pattern(self, pattern: str) -> None:
        try:
            datetime.strptime("", pattern)  # noqa: DTZ007
        except ValueError as error:
            if "%" in pattern and "does not match format" in str(error):
                return
        raise UsageError(
            f"{param.time_format} must be s, ms, us, min@ORIGIN or a strptime pattern",
            given=pattern,
            remedy="for example '%d.%m.%Y %H:%M'",
        )

    def _origin(self) -> int:
        text, option = str(self.pattern).removeprefix("min@"), f"the origin in {param.time_format} min@ORIGIN"
        return self.instant(read_moment(text, option, "min@2012-01-01"), pa.null())


def read_moment(text: str, option: object, example: str = "2026-03-01") -> datetime:
    """Read one public moment, given as ISO 8601 text; without an offset it is a wall-clock time."""
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{option} must be an ISO 8601 time", given=text, remedy=f"for example {example}"
        ) from error


def stamped(column: pa.Array) -> Moments:
    """Read a column of timestamps or dates; those with a zone are instants."""
    kind = column.type
    if pa.types.is_date32(kind):
        per, ticks = 86_400_000_000, column.view(pa.int32())
    elif pa.types.is_date(kind):
        per, ticks = 1_000, column.view(pa.int64())
    else:
        per, ticks = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}[kind.unit], column.view(pa.int64())
    there = np.asarray(pc.is_valid(column), dtype=bool)
    count = pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    if per == 0:
        micros = count // 1_000
    else:
        inside = (count >= -(-FIRST // per)) & (count <= LAST // per)
        there = there & inside
        micros = np.where(inside, count, 0) * per
    instant = pa.types.is_timestamp(kind) and kind.tz is not None
    return Moments(micros, there, np.full(micros.size, instant))


def _whole(column: pa.Array) -> tuple[Integers, NDArray[np.bool_]]:
    """Return numbers of an integer column that 64 bits with a sign hold; none of any other column."""
    if not pa.types.is_integer(column.type):
        return np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=bool)
    there = np.asarray(pc.is_valid(column), dtype=bool)
    values: NDArray[Any] = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    if pa.types.is_uint64(column.type):
        there = there & (values < 2**63)
    return values.astype(np.int64), there


_SECOND, _QUARTER = 1_000_000, 900_000_000
_QUARTERS_ONLY = (2 * 365 + 60) * 86_400_000_000  # March 1972: the last change at an odd minute is past
_WIDEST = 1 << 22
_FIXED = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})")


class Zone:
    """The clocks of one zone.

    >>> Zone("Europe/Zurich").shown(np.array([0, 2_225_000_000_000_000])).tolist()     # January 1970; July 2040
    [3600000000, 2225007200000000]
    """

    def __init__(self, name: str) -> None:
        self._zone = _find(name)
        self._offsets_by_zone_time: dict[bool, dict[int, int]] = {False: {}, True: {}}

    def shown(self, instants: Integers) -> Integers:
        """Return what the clocks showed at each moment, in microseconds."""
        return instants + self._offsets(instants, local=False)

    def meant(self, shown: Integers) -> Integers:
        """Return the moment at which the clocks showed each time, in microseconds."""
        return shown - self._offsets(shown, local=True)

    def _offsets(self, micros: Integers, *, local: bool) -> Integers:
        early = micros < _QUARTERS_ONLY
        if not early.any():
            return self._offsets_at(micros // _QUARTER, _QUARTER, local=local)
        offsets = np.empty_like(micros)
        offsets[early] = self._offsets_at(micros[early] // _SECOND, _SECOND, local=local)
        offsets[~early] = self._offsets_at(micros[~early] // _QUARTER, _QUARTER, local=local)
        return offsets

    def _offsets_at(self, steps: Integers, length: int, *, local: bool) -> Integers:
        if not steps.size:
            return steps
        low, span = int(steps.min()), int(steps.max()) - int(steps.min()) + 1
        if span <= _WIDEST:
            there = np.zeros(span, dtype=bool)
            there[steps - low] = True
            table = np.zeros(span, dtype=np.int64)
            places = np.flatnonzero(there)
            table[places] = [self._offset((low + int(place)) * length, local=local) for place in places]
            return table[steps - low]
        distinct, places = np.unique(steps, return_inverse=True)
        return np.array([self._offset(int(step) * length, local=local) for step in distinct])[places]

    def _offset(self, micros: int, *, local: bool) -> int:
        """Return how far the clocks are ahead of UTC at one time, which the year 1 and 9999 may not hold."""
        offsets = self._offsets_by_zone_time[local]
        if micros not in offsets:
            try:
                moment = EPOCH + timedelta(microseconds=micros)
                if not local:
                    moment = moment.replace(tzinfo=UTC).astimezone(self._zone)
                offset = self._zone.utcoffset(moment.replace(tzinfo=self._zone)) or timedelta(0)
            except OverflowError:
                offset = timedelta(0)
            offsets[micros] = offset // MICROSECOND
        return offsets[micros]


@lru_cache(maxsize=64)
def zone_named(name: str) -> Zone | None:
    """Return the clocks of a zone, or None for UTC, which are never ahead.

    >>> zone_named("UTC") is None, zone_named("Europe/Zürich")
    Traceback (most recent call last):
    headcount.errors.UsageError: unknown time zone, not 'Europe/Zürich'; for example Europe/Zurich
    """
    return None if name in ("UTC", "Etc/UTC", "+00:00", "Z") else Zone(name)


def _find(name: str) -> tzinfo:
    fixed = _FIXED.fullmatch(name)
    try:
        if fixed is None:
            return ZoneInfo(name)
        ahead = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return timezone(ahead if fixed[1] == "+" else -ahead)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError("unknown time zone", given=name, remedy="for example Europe/Zurich") from error
