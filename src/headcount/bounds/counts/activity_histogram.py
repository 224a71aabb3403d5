"""Activity histogram: the number of users by their number of records; each user is in one bin.

The bins of the adaptive method are 1, 2, 3–4, 5–8, … records, and one open bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from headcount.bounds.bound import CountTable, Norm, VectorBound, check_limit
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.counts.count_bound import ItemSubset, count_by_activity, marked_items
from headcount.bounds.engine_interface import Passes
from headcount.events.log import EventLog

LAST_EDGE = 1 << 20
UPPER_ENDS = np.array([1 << k for k in range(21)], dtype=np.int64)
"""The most records in each closed bin; one open bin follows."""

BINS = UPPER_ENDS.size + 1


@dataclass(frozen=True)
class ActivityHistogram(VectorBound):
    """Each user once, at the number of their records in a table; the last place is for ``most`` or more.

    Where users are counted, a user's records are the different items, or pairs of item and context. With ``norm``
    "l2", a user is at the sum of squares of the numbers of records of each item; where users are counted, that
    is the same. With ``among``, records about other items are left out first, and so are users without others.
    With ``ends``, rising numbers, there is a place for the users up to each, and one for all beyond the last;
    users with more than ``most`` are where that many are.
    """

    table: CountTable
    most: int
    norm: Norm = "l1"
    among: ItemSubset | None = None
    ends: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_limit(self.most, "most")
        if any(lower >= upper for lower, upper in pairwise((0, *self.ends))):
            raise ValueError(f"ends must rise, from 1 or more, and not be {self.ends}")

    @property
    def places(self) -> int:
        """How many places there are."""
        return len(self.ends) + 1 if self.ends else self.most

    @property
    def shape(self) -> tuple[int]:
        """One number for each place."""
        return (self.places,)

    def sensitivity(self, size: int) -> Sensitivity:  # noqa: ARG002
        """A user is in one place, once."""
        return Sensitivity.of_l1(1)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:
        """Count the users by the number of their records."""
        return self.seal(
            count_by_activity(
                passes, log, secret, self.table, self.most,
                squares=self.norm == "l2", among=marked_items(log, self.among),
                ends=np.array(self.ends, dtype=np.int64),
            )
        )  # fmt: skip


def bin_of(records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bin that each number of records falls into.

    >>> bin_of(np.array([1, 2, 3, 4, 5, 8, 9, 1 << 20, (1 << 20) + 1])).tolist()
    [0, 1, 2, 2, 3, 3, 4, 20, 21]
    """
    return np.asarray(np.searchsorted(UPPER_ENDS, records), dtype=np.int64)


def lower_ends() -> NDArray[np.int64]:
    """Return the fewest records in each bin.

    >>> lower_ends()[:5].tolist()
    [1, 2, 3, 5, 9]
    """
    return np.concatenate([[1], UPPER_ENDS + 1])
