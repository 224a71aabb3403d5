"""The exact ratings of a log, without privacy, for unproven published methods and attacks.

A proven method never sees them: it asks an engine for sums that are bounded already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from headcount.bounds.ratings.rating_bound import Raters
from headcount.engines.local.row_reader import collect_rows
from headcount.errors import UsageError, param
from headcount.events.encode.id_table import raw_ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.lab.recommender.ratings import Ratings


class RawRatings(NamedTuple):
    """The ratings of a log, and the code of each person who rated, by the text of their id."""

    ratings: Ratings
    people: Mapping[str, int]


def ratings_of(log: EventLog) -> RawRatings:
    """Return who gave which item how much; items are coded in the order of the catalogue.

    There is one rating for each pair of user and item: the mean of what the user gave it, each value cut to the
    declared range first. A row that stands for several records weighs as much as they do.
    """
    if log.roles.value is None or log.value_range is None:
        raise UsageError(
            "ratings need a value", remedy=f"name its column with {param.value}, and {param.value_range('LO,HI')}"
        )
    if not log.has_catalogue:
        raise UsageError("ratings need a catalogue of items", remedy=f"name one with {param.items}")
    low, high = (float(end) for end in log.value_range)
    coded = EncodedLog(log, Raters().reading(log))
    rows, size = collect_rows(coded), len(log.catalogue.ids)
    if rows.values is None:
        return RawRatings(Ratings.of([], [], [], n_items=size), {})
    weights = np.ones(rows.users.size) if rows.times is None else rows.times.astype(np.float64)
    sums = np.clip(rows.values, low, high) * weights
    pairs, place = np.unique(rows.users.astype(np.int64) * size + rows.cells, return_inverse=True)
    total, weight = (np.bincount(place, values, pairs.size) for values in (sums, weights))
    ratings = Ratings.of(pairs // size, pairs % size, total / weight, n_items=size)
    named = enumerate(raw_ids(coded.users)[: ratings.n_users])
    return RawRatings(ratings, {str(name): code for code, name in named})
