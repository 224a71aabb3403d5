"""The ratings of a log, whole and without any protection: for methods whose claim is not established, and attacks.

A proven method never sees them: it asks an engine for sums that are bounded already.
"""

from __future__ import annotations

import numpy as np

from headcount.arrays import Codes, Floats
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.events.valued import ValuedLog


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
    users, items, sums, weights = [], [], [], []
    for batch in ValuedLog(log).batches():
        counts = batch.cells >= 0
        times = counts.astype(np.float64) if batch.times is None else batch.times * counts
        counts = times > 0
        values = np.clip(np.asarray(batch.values, dtype=np.float64)[counts], low, high)
        users.append(batch.users[counts].astype(np.int64))
        items.append(batch.cells[counts].astype(np.int64))
        sums.append(values * times[counts])
        weights.append(times[counts])
    if not users:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
    size = len(log.catalogue.ids)
    pairs, place = np.unique(np.concatenate(users) * size + np.concatenate(items), return_inverse=True)
    total, weight = (np.bincount(place, np.concatenate(each), pairs.size) for each in (sums, weights))
    return (pairs // size).astype(np.int32), (pairs % size).astype(np.int32), total / weight
