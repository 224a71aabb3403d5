"""Time zones: conversion between instants and local wall-clock times, in bulk.

Every answer is that of Python's :mod:`zoneinfo`, asked once for each quarter of an hour that comes up: since 1972
clocks have been changed at whole quarters alone. Of an hour that a clock showed twice the first is meant; an hour
that was skipped is read as if the clock had not been changed yet.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from headcount._internal.arrays import Integers
from headcount.errors import UsageError

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (on the wall's clock)
MICROSECOND = timedelta(microseconds=1)
_SECOND, _QUARTER = 1_000_000, 900_000_000
_QUARTERS_ONLY = (
    2 * 365 * 86_400_000_000 + 60 * 86_400_000_000
)  # March 1972: the last change at an odd minute is past
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
