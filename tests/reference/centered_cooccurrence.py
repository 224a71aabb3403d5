"""Reference of centered co-occurrence: pair products of each user's items, less their projection on the common."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

from headcount.bounds import Bounded
from headcount.bounds.ratings.centered_cooccurrence import (
    COOCCURRENCE_FACTOR,
    COOCCURRENCE_NORM,
    CenteredCooccurrence,
)
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from tests.reference.registry import measures


@measures(CenteredCooccurrence)
def sum_centered_cooccurrence(log: EventLog, bound: CenteredCooccurrence, secret: bytes) -> Bounded:
    """Write each person's departure out, as long as it may be, and multiply each two of its numbers."""
    rows = collect_rows(EncodedLog(log, bound.reading(log)))
    items_by_user: dict[int, set[int]] = defaultdict(set)
    for user, item in zip(rows.users.tolist(), rows.cells.tolist(), strict=True):
        items_by_user[user].add(item)
    sums = np.zeros(bound.pairs, dtype=np.int64)
    for items in items_by_user.values():
        own = [int(item in items) for item in bound.items.tolist()]
        departure = next(candidate for candidate in _tried(own, bound.common.tolist()) if _is_short(candidate))
        sums += np.array([value * other for value, other in itertools.combinations(departure, 2)], dtype=np.int64)
    return bound.seal(sums)


def _tried(own: list[int], common: list[int]) -> itertools.chain[list[int]]:
    """Return the departures at all factors, the largest first."""
    along, squares = sum(a * g for a, g in zip(own, common, strict=True)), sum(g * g for g in common)

    def at(b: int) -> list[int]:
        c = (2 * b * along + squares) // (2 * squares) if squares else 0
        return [b * a - c * g for a, g in zip(own, common, strict=True)]

    return itertools.chain(map(at, range(COOCCURRENCE_FACTOR, 0, -1)), [[0] * len(own)])


def _is_short(departure: list[int]) -> bool:
    squares, fourths = sum(z**2 for z in departure), sum(z**4 for z in departure)
    return squares <= 2 * COOCCURRENCE_NORM and squares**2 - fourths <= 2 * COOCCURRENCE_NORM**2
