"""A log's ratings, grouped by user: one number for each user and item, in units of the declared range.

Where a user rated an item more than once, the mean counts. Without a value column it is only known which items a
user has. All ratings are held, and some 70 bytes of memory for each while they are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import STAR, Raters
from headcount.engines.passes import Passes
from headcount.events.log import EventLog
from headcount.events.values import Range

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


def read_ratings(log: EventLog, passes: Passes | None = None) -> Rated:
    """Read all ratings of a log.

    >>> rated = read_ratings(EventLog.of([("ann", "tea"), ("bob", "tea"), ("ann", "rye")], items=["rye", "tea"]))
    >>> rated.starts.tolist(), rated.items.tolist()
    ([0, 2, 3], [0, 1, 1])
    """
    coded, rows = (passes or Passes()).read(log, Raters().reading(log))
    items = len(log.catalogue.ids)
    keys = rows.users.astype(np.int64) * items + rows.cells
    values = np.zeros(keys.size, dtype=np.int64)
    if rows.values is not None and log.value_range is not None:
        values = units_of(rows.values, log.value_range)
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    many = np.diff(np.append(first, keys.size))
    sums = np.add.reduceat(values, first) if first.size else values
    owners, places = np.divmod(keys[first], items)
    starts = np.searchsorted(owners, np.arange(coded.users.size + 1))
    means = (2 * sums + many) // (2 * many)
    return Rated(starts.astype(np.int64), places.astype(np.int32), means.astype(np.int32), items)


def units_of(values: NDArray[np.float64], within: Range) -> NDArray[np.int64]:
    """Cut values to their range, and stretch it: whole units above its lower end."""
    low, high = map(float, within)
    stretched = (np.clip(values, low, high) - low) * (WHOLE_RANGE / (high - low))
    return np.rint(np.clip(stretched, 0, WHOLE_RANGE)).astype(np.int64)
