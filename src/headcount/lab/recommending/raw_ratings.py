"""The ratings of a log, whole and without any protection: for methods whose claim is not established, and attacks.

A proven method never sees them: it asks an engine for sums that are bounded already.
"""

from __future__ import annotations

import numpy as np

from headcount.arrays import Codes, Floats
from headcount.bounding import Raters
from headcount.engines.collecting import collected
from headcount.errors import UsageError
from headcount.events.encoding import EncodedLog
from headcount.events.log import EventLog


def ratings_of(log: EventLog) -> tuple[Codes, Codes, Floats]:
    """Return who gave which item how much: user codes, item codes in the order of the catalogue, and values.

    There is one rating for each pair of user and item: the mean of what the user gave it, each value cut to the
    declared range first. A row that stands for several records weighs as much as they do.
    """
    if log.roles.value is None or log.value_range is None:
        raise UsageError("ratings need a value", remedy="name its column with --value, and --value-range LO,HI")
    if not log.has_catalogue:
        raise UsageError("ratings need a catalogue of items", remedy="name one with --items")
    low, high = (float(end) for end in log.value_range)
    rows = collected(EncodedLog(log, Raters().reading(log)))
    if rows.values is None:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
    weights = np.ones(rows.users.size) if rows.times is None else rows.times.astype(np.float64)
    sums = np.clip(rows.values, low, high) * weights
    size = len(log.catalogue.ids)
    pairs, place = np.unique(rows.users.astype(np.int64) * size + rows.cells, return_inverse=True)
    total, weight = (np.bincount(place, each, pairs.size) for each in (sums, weights))
    return (pairs // size).astype(np.int32), (pairs % size).astype(np.int32), total / weight
