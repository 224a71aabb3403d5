"""Column roles: which columns hold user, item, weight and value; parsed with context and conditions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from headcount._internal.parameters import read_decimal
from headcount.errors import Parameter, UsageError, param
from headcount.events.conditions import Condition, TimeWindow, read_condition, time_window
from headcount.events.contexts import Context, read_context
from headcount.events.notation import Notations, Separators
from headcount.events.sources.files.formats import TextOptions
from headcount.events.sources.files.packed_store import is_store
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
    """Read roles, context and conditions from the parameters of a log."""
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


Range = tuple[Decimal, Decimal]


_EXAMPLE = f"for example {param.value_range('1,5')}"


def read_range(value: str | None, given: Any) -> Range | None:
    """Read the range of a value column, ``LO,HI`` or a pair; there is none without a column.

    >>> read_range("stars", "1,5")
    (Decimal('1'), Decimal('5'))
    """
    if given is None:
        return None
    if value is None:
        raise UsageError(
            f"{param.value_range} is given without {param.value}",
            remedy=f"name the column with {param.value('COL')}",
        )
    parts = given.split(",") if isinstance(given, str) else list(given)
    try:
        low, high = (read_decimal(repr(part) if isinstance(part, float) else part) for part in parts)
    except (ValueError, InvalidOperation) as error:
        raise UsageError(f"{param.value_range} must be two numbers", given=given, remedy=_EXAMPLE) from error
    if not (low.is_finite() and high.is_finite() and low < high):
        raise UsageError(
            f"{param.value_range} must go from a number up to a larger one", given=given, remedy=_EXAMPLE
        )
    return low, high


def store_path(events: Any) -> str | os.PathLike[str] | None:
    """Return the path of a packed store, if one is given, alone."""
    if isinstance(events, list | tuple) and len(events) == 1:
        events = events[0]
    return events if is_store(events) else None


def is_given(value: Any) -> bool:
    """Tell whether a flag that is empty by default was given."""
    return value is not None and not (isinstance(value, list | tuple) and not value)


def refuse_packed(store: str | os.PathLike[str], words: Mapping[str, Any], text: TextOptions) -> None:
    """Refuse what says how to read raw files, for a store that says so by itself."""
    given = [str(Parameter(name, value is True or None)) for name, value in words.items() if is_given(value)]
    given += [str(text.given)] if text.given else []
    if given:
        raise UsageError(
            f"{', '.join(given)} cannot be given for {os.fspath(store)}, which is packed already",
            remedy="leave it out, or pack the log again with it",
        )
