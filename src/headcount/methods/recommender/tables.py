"""Input checks and item columns shared by the recommender methods."""

from __future__ import annotations

from math import inf

import pyarrow as pa

from headcount.errors import Parameter, UsageError, param
from headcount.events.log import EventLog


def check_ratings(log: EventLog) -> None:
    """Refuse what a model of ratings cannot use."""
    _check(log, {param.context: log.context is not None}, "one rating of each person and item counts")
    if log.roles.value is None:
        raise UsageError(
            "this needs ratings: a column of numbers and its public range",
            remedy=f"for example {param.value('rating')} {param.value_range('1,5')}; or {param.method('visits')}, "
            f"which needs none",
        )
    if log.value_range is not None:
        low, high = map(float, log.value_range)
        if not 0 < high - low < inf:
            raise UsageError(
                f"{param.value_range(f'{log.value_range[0]},{log.value_range[1]}')} is too wide, or too narrow, "
                "to tell ratings apart",
                remedy="name the range of the ratings themselves, for example 1,5",
            )


def check_visits(log: EventLog, method: str = "visits", *, contexts: bool = True) -> None:
    """Refuse what a model of who has what cannot use."""
    wrong = {
        param.context: log.context is not None and not contexts,
        param.context_of("user"): log.context_of == "user",
    }
    _check(log, wrong, "each person and item counts once")
    if log.roles.value is not None:
        raise UsageError(
            f"{param.value} is of no use to {method}", remedy=f"leave it out, or use {param.method('private')}"
        )


def _check(log: EventLog, wrong: dict[Parameter, bool], why: str) -> None:
    wrong |= {param.count("users"): log.counting == "users", param.times: log.roles.times is not None}
    for flag, given in wrong.items():
        if given:
            raise UsageError(
                f"neighbours cannot use {flag}: {why}",
                remedy=f"leave it out, or narrow the records down with {param.where}",
            )


def describe_significant_factors(factors: int) -> str:
    """Say how much of relations stood out of their noise."""
    if not factors:
        return "Nothing stood out of the noise."
    return f"What stood out of the noise is kept as {factors} {'number' if factors == 1 else 'numbers'} an item."


def item_column(log: EventLog) -> tuple[pa.Array, pa.Array]:
    """Return the items of the catalogue, and their labels."""
    labels = log.catalogue.labels or [None] * len(log.catalogue.ids)
    return log.catalogue.column, pa.array(labels, pa.string())
