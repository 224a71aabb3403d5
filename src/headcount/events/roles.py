"""Column roles: which columns hold user, item, weight and value; parsed with context and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headcount.errors import UsageError, param
from headcount.events.conditions import Condition, TimeWindow, read_condition, time_window
from headcount.events.contexts import Context, read_context
from headcount.events.notation import Notations, Separators
from headcount.events.times import TimeFormat


@dataclass(frozen=True)
class Roles:
    """Which column says who, what, how often, and holds a number of each record; and how numbers are written."""

    user: str
    item: str
    times: str | None = None
    value: str | None = None
    numbers: Notations = field(default_factory=Notations)


def read_roles(
    *,
    user: str,
    item: str,
    context: Any = None,
    contexts: Any = None,
    select_contexts: bool = False,
    where: str | Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    time: str | None = None,
    times: str | None = None,
    value: str | None = None,
    decimal: Separators = None,
    thousands: Separators = None,
    time_format: str | None = None,
    timezone: str | None = None,
) -> tuple[Roles, Context | None, tuple[Condition, ...]]:
    """Read roles, context and conditions from what was asked for."""
    clock, numbers = TimeFormat(time_format, timezone), Notations.read(decimal, thousands)
    texts = [where] if isinstance(where, str) else where
    conditions: list[Condition] = [read_condition(text, numbers) for text in texts]
    conditions += time_window(time, since, until, clock)
    read = read_context(context, contexts, clock, select=select_contexts)
    for flag, given in ((param.time_format, time_format), (param.timezone, timezone)):
        if given is not None and not clocks(read, conditions):
            raise UsageError(
                f"{flag} is given, but no time is read",
                remedy=f"leave it out, or use {param.context} weekday:COL, {param.since} or {param.until}",
            )
    return Roles(user, item, times, value, numbers), read, tuple(conditions)


def clocks(context: Context | None, conditions: Sequence[Condition]) -> list[TimeFormat]:
    """Return how times are read, wherever they are."""
    read = [context.time] if context is not None and context.part is not None else []
    return read + [condition.time for condition in conditions if isinstance(condition, TimeWindow)]
