"""What the methods of this family ask of a log, and how they name its items."""

from __future__ import annotations

from math import inf

import pyarrow as pa

from headcount.errors import UsageError
from headcount.events.log import EventLog


def check_ratings(log: EventLog, *, needs_value: bool) -> None:
    """Refuse what a model of ratings, or of who has what, cannot use."""
    wrong = {
        "--context": log.context is not None,
        "--count users": log.counting == "users",
        "--times": log.roles.times is not None,
    }
    for flag, given in wrong.items():
        if given:
            raise UsageError(
                f"neighbours cannot use {flag}: one rating of each person and item counts",
                remedy="leave it out, or narrow the records down with --where",
            )
    if needs_value and log.roles.value is None:
        raise UsageError(
            "this needs ratings: a column of numbers and its public range",
            remedy="for example --value rating --value-range 1,5; or --method co-counts, which needs none",
        )
    if log.value_range is not None:
        low, high = map(float, log.value_range)
        if not 0 < high - low < inf:
            raise UsageError(
                f"--value-range {log.value_range[0]},{log.value_range[1]} is too wide, or too narrow, "
                "to tell ratings apart",
                remedy="name the range of the ratings themselves, for example 1,5",
            )
    if not needs_value and log.roles.value is not None:
        raise UsageError("--value is of no use to co-counts", remedy="leave it out, or use --method private")


def item_column(log: EventLog) -> tuple[pa.Array, pa.Array]:
    """Return the items of the catalogue, and their labels."""
    labels = log.catalogue.labels or [None] * len(log.catalogue.ids)
    return log.catalogue.column, pa.array(labels, pa.string())
