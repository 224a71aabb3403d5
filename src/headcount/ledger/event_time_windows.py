"""Budget windows over event time: a budget per day span or month, and which windows a request is charged to.

A dataset may have its budget once for each window of event time, such as 30 days or a calendar month, in UTC. A
request then says from when until when it reads, and is charged in full to every window that this span touches. A
row lies in the window of its own time stamp. Which column holds that, and how it is read, is fixed with the
budget: whoever could read the same row as one of another month could spend on it twice.

Why it is private
    Take two logs that differ by one person, whose rows lie in m windows, W. (A row whose time cannot be read lies
    in no window, and no request reads it.) Requests are chosen one after another, each after seeing all earlier
    answers. One whose span touches no window of W reads the same rows in both logs, so its answer, given the
    earlier ones, has the same distribution in both: it costs this person nothing. Any other one is (εᵢ, δᵢ)-DP,
    and was charged in full to at least one window of W. No window takes more than its budget, whatever the answers
    are, so

        Σ εᵢ over the requests that touch W  <=  Σ over w in W of Σ εᵢ over those that touch w  <=  m ε,

    and likewise for δ, and for ρ and slack. That is all that a filter asks for: see
    :mod:`headcount.ledger.composition`. So all answers there will ever be are (m ε, m δ)-DP for this pair of logs.
    With the filter ``zcdp`` they are m γ-approximately m ρ-zCDP, hence (ε', m δ)-DP, where ε' is what m ρ implies
    at the half of m δ that is not for slack. A request over several windows counts once on the left, and in each
    of its windows on the right. The ledger does not know W, and need not: the bound holds for every W. A lifetime
    bounds the sum over all requests, and so the left side, whatever W is.

    Now take two logs that differ by the rows of one person in one window w alone, all their others staying. A
    request inside of w sees the person come or go, which costs εᵢ. One that touches other windows, too, sees the
    rows of a person change, which is leaving and coming back: 2 εᵢ (in ρ: 4 ρᵢ; in δ: (1 + exp(εᵢ)) δᵢ). In all
    that is at most ε where no span crosses a border of w, and at most 2 ε in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from headcount.errors import Parameter, UsageError, param

ORIGIN = date(2001, 1, 1)
"""A Monday that begins a month and a year, so that weeks begin on Mondays, and months on the first."""

_UNITS = {"d": "day", "w": "week", "mo": "month"}
_LONGEST = {"d": 3660, "w": 520, "mo": 120}
_FIRST, _LAST = datetime(1000, 1, 1), datetime(9000, 1, 1)  # noqa: DTZ001 - in UTC, as everything here
_MOST = 5_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
_MICROSECOND = timedelta(microseconds=1)
_LENGTH = re.compile(r"([1-9][0-9]{0,4})(d|w|mo)")


@dataclass(frozen=True)
class Clock:
    """Where a row says its time, and how that is read: the words of ``--time``, ``--time-format``, ``--timezone``.

    >>> from headcount.errors import command_line, render
    >>> print(render(Clock("when", "s").parameters, command_line))
    --time when --time-format s
    """

    time: str
    time_format: str | None = None
    timezone: str | None = None

    @property
    def parameters(self) -> str:
        """The parameters that say so, for the text of an error."""
        return " ".join(str(Parameter(name, value)) for name, value in self.to_json().items() if value is not None)

    def to_json(self) -> dict[str, str | None]:
        """Return it as plain data."""
        return {"time": self.time, "time_format": self.time_format, "timezone": self.timezone}


@dataclass(frozen=True)
class Span:
    """The stretch of event time that a request reads: microseconds since 1970, the second one excluded.

    >>> Span(Clock("when"), 0, 86_400_000_000).to_json()["until"]
    '1970-01-02T00:00:00'
    """

    clock: Clock
    since: int | None = None
    until: int | None = None

    def to_json(self) -> dict[str, str | None]:
        """Return it as plain data, exactly."""
        return {"since": _written(self.since), "until": _written(self.until), **self.clock.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Span | None:
        """Read back what :meth:`to_json` wrote."""
        if data is None:
            return None
        clock = Clock(data["time"], data["time_format"], data["timezone"])
        return cls(clock, _read(data["since"]), _read(data["until"]))


@dataclass(frozen=True)
class Windows:
    """Event time, cut into windows of one length; they are numbered, and 0 begins at the public origin.

    >>> windows = Windows.parse("1mo", time="when")
    >>> march = Span.from_json({"since": "2026-03-01", "until": "2026-04-01"} | Clock("when").to_json())
    >>> [windows.words(each) for each in windows.touched(march)]
    ['from 2026-03-01 to 2026-04-01']
    >>> windows.touched(None)
    Traceback (most recent call last):
    headcount.errors.UsageError: the budget is one for each window of 1 month of events, and this request does \
not say from when until when it reads; add --since and --until (with --time when)
    """

    clock: Clock
    count: int
    unit: str
    origin: date = field(default=ORIGIN)

    @classmethod
    def parse(
        cls,
        length: str | None,
        *,
        time: str | None = None,
        time_format: str | None = None,
        timezone: str | None = None,
        origin: str | None = None,
    ) -> Windows | None:
        """Read the words of a budget; None if it has no windows."""
        if length is None:
            _refuse_without(time=time, time_format=time_format, timezone=timezone, origin=origin)
            return None
        match = _LENGTH.fullmatch(length)
        if match is None or int(match[1]) > _LONGEST[match[2]]:
            raise UsageError(
                f"{param.window} must be a number of days, weeks or months, of ten years at most",
                given=length,
                remedy="such as 30d, 1w or 1mo",
            )
        if time is None:
            raise UsageError(
                f"{param.window} needs to know which column says when", remedy=f"name it with {param.time('COL')}"
            )
        begin = ORIGIN if origin is None else _date(origin)
        if match[2] == "mo" and begin.day > 28:
            raise UsageError(
                f"{param.origin} must be one of the first 28 days if windows are months",
                given=origin,
                remedy="try the first",
            )
        return cls(Clock(time, time_format, timezone), int(match[1]), match[2], begin)

    def __str__(self) -> str:
        return f"{self.count} {_UNITS[self.unit]}{'' if self.count == 1 else 's'}"

    def touched(self, span: Span | None) -> range:
        """Return the windows that a span touches; refuse one that is open, or whose times are read otherwise."""
        reason = f"the budget is one for each window of {self} of events"
        if span is None or span.since is None or span.until is None:
            open_end = (
                "from when until when" if span is None else "from when" if span.since is None else "until when"
            )
            raise UsageError(
                f"{reason}, and this request does not say {open_end} it reads",
                remedy=f"add {param.since} and {param.until} (with {self.clock.parameters})",
            )
        if span.clock != self.clock:
            raise UsageError(
                f"{reason}, by the time that {self.clock.parameters} says, and this request has "
                f"{span.clock.parameters}",
                remedy=f"use {self.clock.parameters}",
            )
        if span.since >= span.until:
            raise UsageError(f"{param.since} is not before {param.until}", remedy="swap or correct them")
        if span.since < _micros(_FIRST) or span.until > _micros(_LAST):
            raise UsageError(
                f"{reason}, from the year {_FIRST.year} to {_LAST.year}",
                remedy=f"correct {param.since} or {param.until}",
            )
        numbers = range(self.number(span.since), self.number(span.until - 1) + 1)
        if len(numbers) > _MOST:
            raise UsageError(
                f"this request touches {len(numbers):,} windows, more than {_MOST:,}", remedy="read a shorter span"
            )
        return numbers

    def number(self, moment: int) -> int:
        """Return the window that a moment lies in."""
        days = moment // 86_400_000_000 - (self.origin - _EPOCH.date()).days
        if self.unit != "mo":
            return days // self._days
        day = self.origin + timedelta(days=days)
        months = (day.year - self.origin.year) * 12 + day.month - self.origin.month - (day.day < self.origin.day)
        return months // self.count

    def begin(self, number: int) -> date:
        """Return the first day of a window."""
        if self.unit != "mo":
            return self.origin + timedelta(days=number * self._days)
        years, month = divmod(self.origin.month - 1 + number * self.count, 12)
        return self.origin.replace(year=self.origin.year + years, month=month + 1)

    def words(self, number: int) -> str:
        """Say from when until when a window is."""
        return f"from {self.begin(number)} to {self.begin(number + 1)}"

    def dates(self, number: int) -> dict[str, str]:
        """Return from when until when a window is, as plain data."""
        return {"since": self.begin(number).isoformat(), "until": self.begin(number + 1).isoformat()}

    @property
    def _days(self) -> int:
        return self.count * (7 if self.unit == "w" else 1)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"length": f"{self.count}{self.unit}", "origin": self.origin.isoformat(), **self.clock.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Windows | None:
        """Read back what :meth:`to_json` wrote."""
        if data is None:
            return None
        words = {name: data[name] for name in ("time", "time_format", "timezone", "origin")}
        return cls.parse(data["length"], **words)


def _refuse_without(**given: str | None) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"{Parameter(name)} is given without {param.window}",
                remedy=f"leave it out, or add {param.window('30d')}",
            )


def _date(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{param.origin} must be a date", given=text, remedy="such as 2026-01-01") from error
    if not _FIRST.date() <= day <= _LAST.date():
        raise UsageError(f"{param.origin} must be from the year {_FIRST.year} to {_LAST.year}", given=text)
    return day


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _written(moment: int | None) -> str | None:
    return None if moment is None else (_EPOCH + moment * _MICROSECOND).isoformat()


def _read(text: str | None) -> int | None:
    return None if text is None else _micros(datetime.fromisoformat(text))
