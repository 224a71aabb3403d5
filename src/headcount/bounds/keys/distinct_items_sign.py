"""Sign of the number of distinct items per user: positive if most users have several, for choosing a method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bound import VectorBound
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.keys.item_cache import items_of_users, observed_items
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog

SIGN_UNIT = 64
_MANY = 12  # items from which on a user weighs in fully


@dataclass(frozen=True)
class DistinctItemsSign(VectorBound):
    """Each user with 0.6 √n - 1 for n different items, 1 at most: -0.4 for one item, 0.04 for three.

    √n against 1 is what a user can add to items with Gaussian noise against Laplace noise; 0.6 is about how
    much higher the threshold of Laplace noise may be, measured by ``benchmarks.quality.item_selection``.
    Nothing is drawn but which context is whose, where each user keeps one alone.
    """

    @property
    def unit(self) -> int:
        """A user adds at most one unit of 64."""
        return SIGN_UNIT

    @property
    def shape(self) -> tuple[int]:
        """One number."""
        return (1,)

    def sensitivity(self, size: int = 1) -> Sensitivity:  # noqa: ARG002
        """Return how far one user moves the sum."""
        return Sensitivity.of_l1(SIGN_UNIT)

    def reading(self, log: EventLog) -> Reading:
        """Items as they come up."""
        return observed_items(log)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:
        """Add up what the number of each user's items amounts to."""
        sizes = items_of_users(passes, log, secret).sizes
        return self.seal(distinct_items_sign(sizes[sizes > 0]).sum(keepdims=True, dtype=np.int64))


def distinct_items_sign(items: Integers) -> Integers:
    """Return what users with so many different items add, in units of 1/64.

    >>> distinct_items_sign(np.array([1, 2, 3, 4, 12, 5000])).tolist()
    [-26, -10, 2, 12, 64, 64]
    """
    roots = np.floor(np.sqrt(1474.0 * np.minimum(items, _MANY))).astype(np.int64)  # 0.6 · 64 · √n
    return np.asarray(np.minimum(roots - SIGN_UNIT, SIGN_UNIT))
