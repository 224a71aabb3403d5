"""A log's ratings, grouped by user: one number for each user and item, in units of the declared range.

Where a user rated an item more than once, the mean counts. Without a value column it is only known which items a
user has. All ratings are held, and some 70 bytes of memory for each while they are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import STAR
from headcount.engines.engine import Progress, silent
from headcount.events.encoding import CodedBatch, EncodedLog
from headcount.events.log import EventLog
from headcount.events.valued import ValuedLog

WHOLE_RANGE = 4 * STAR


@dataclass(frozen=True)
class Rated:
    """Who rated what: ``items[starts[u] : starts[u + 1]]`` are user u's, rising, and ``values`` what was given.

    Items are places in the catalogue of ``size`` items; values are whole units above the lower end of the range.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.int32]
    size: int

    @property
    def users(self) -> int:
        """How many users there are, some of them perhaps without ratings."""
        return self.starts.size - 1


def read_ratings(log: EventLog, progress: Progress = silent) -> Rated:
    """Read all ratings of a log.

    >>> rated = read_ratings(EventLog.of([("ann", "tea"), ("bob", "tea"), ("ann", "rye")], items=["rye", "tea"]))
    >>> rated.starts.tolist(), rated.items.tolist()
    ([0, 2, 3], [0, 1, 1])
    """
    items, parts = len(log.catalogue.ids), [np.zeros((2, 0), dtype=np.int64)]
    coded = EncodedLog(replace(log, context=None)) if log.roles.value is None else ValuedLog(log)
    for batch in coded.batches():
        parts.append(_records(batch, log, items))
        progress("reading events", coded.tally.rows, log.source.rows)
    keys, values = np.concatenate(parts, axis=1)
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    many = np.diff(np.append(first, keys.size))
    sums = np.add.reduceat(values, first) if first.size else values
    owners, places = np.divmod(keys[first], items)
    starts = np.searchsorted(owners, np.arange(coded.users.size + 1))
    means = (2 * sums + many) // (2 * many)
    return Rated(starts.astype(np.int64), places.astype(np.int32), means.astype(np.int32), items)


def _records(batch: CodedBatch, log: EventLog, items: int) -> NDArray[np.int64]:
    """Return one key for user and item of each record that counts, and below it the value in units."""
    inside = batch.cells >= 0
    places = batch.cells[inside].astype(np.int64) // log.width
    keys = batch.users[inside].astype(np.int64) * items + places
    values = np.zeros(keys.size, dtype=np.int64)
    if batch.values is not None and log.value_range is not None:
        low, high = map(float, log.value_range)
        stretched = (np.clip(batch.values[inside], low, high) - low) * (WHOLE_RANGE / (high - low))
        values = np.rint(np.clip(stretched, 0, WHOLE_RANGE)).astype(np.int64)
    return np.stack([keys, values])
