"""Sign of the number of distinct items per user: positive if most users have several, for choosing a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.keys.key_support import observed_items
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog

SIGN_UNIT = 64
_MANY = 12  # items from which on a person weighs in fully


@dataclass(frozen=True)
class DistinctItemsSign(Bound[Bounded]):
    """Each person with 0.6 √n - 1 for n different items, 1 at most: -0.4 for one item, 0.04 for three.

    √n against 1 is what a person can add to items with Gaussian noise against Laplace noise; 0.6 is about how
    much higher the threshold of Laplace noise may be, measured by ``benchmarks.quality.item_selection``.
    Nothing is drawn but which context is whose, where each user keeps one alone.
    """

    sensitivity: ClassVar[Sensitivity] = Sensitivity(l1=SIGN_UNIT, l2_squared=SIGN_UNIT**2, linf=SIGN_UNIT)

    def reading(self, log: EventLog) -> Reading:
        """Items as they come up."""
        return observed_items(log)


def distinct_items_sign(items: Integers) -> Integers:
    """Return what people with so many different items add, in units of 1/64.

    >>> distinct_items_sign(np.array([1, 2, 3, 4, 12, 5000])).tolist()
    [-26, -10, 2, 12, 64, 64]
    """
    roots = np.floor(np.sqrt(1474.0 * np.minimum(items, _MANY))).astype(np.int64)  # 0.6 · 64 · √n
    return np.asarray(np.minimum(roots - SIGN_UNIT, SIGN_UNIT))


def seal_distinct_items_sign(total: int) -> Bounded:
    """Turn an engine's sum over people into a bounded value: one person moves it by one unit of 64 at most."""
    return Bounded(np.array([total], dtype=np.int64), DistinctItemsSign.sensitivity, SEAL, unit=SIGN_UNIT)
