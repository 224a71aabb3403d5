"""A log's ratings, grouped by user: one number for each user and item, in units of the declared range.

Where a user rated an item more than once, the mean counts. Without a value column it is only known which items a
user has. All ratings are held, in 8 bytes each, and in some 20 while they are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.bounds import UNITS_PER_STAR, Raters
from headcount.bounds.kernels.sort_rows import average
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.passes import CodedBatch
from headcount.events.log import EventLog
from headcount.events.record_values import Range

WHOLE_RANGE = 4 * UNITS_PER_STAR


@dataclass(frozen=True)
class UserRatings:
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


def read_ratings(log: EventLog, passes: LocalRunner | None = None) -> UserRatings:
    """Read all ratings of a log.

    >>> rated = read_ratings(EventLog.of([("ann", "tea"), ("bob", "tea"), ("ann", "rye")], items=["rye", "tea"]))
    >>> rated.starts.tolist(), rated.items.tolist()
    ([0, 2, 3], [0, 1, 1])
    """
    within = log.value_range

    def units(batch: CodedBatch) -> NDArray[np.int16]:
        if batch.values is None or within is None:
            return np.zeros(batch.cells.size, dtype=np.int16)
        return units_of(batch.values, within).astype(np.int16)

    rows = (passes or LocalRunner()).read_sorted(log, Raters().reading(log), units)
    average(rows.starts, rows.cells, rows.beside)
    rated = rows.starts[-1]
    return UserRatings(rows.starts, rows.cells[:rated], rows.beside[:rated], len(log.catalogue.ids))


def units_of(values: NDArray[np.float64], within: Range) -> NDArray[np.int64]:
    """Cut values to their range, and stretch it: whole units above its lower end."""
    low, high = map(float, within)
    stretched = (np.clip(values, low, high) - low) * (WHOLE_RANGE / (high - low))
    return np.rint(np.clip(stretched, 0, WHOLE_RANGE)).astype(np.int64)
