"""Centered co-occurrence: products over item pairs of what a user has, projected off a public direction.

A person has some of the listed items. What they have in common with everybody says least of them and weighs most,
so it is taken out: of x, 1 for each item they have and 0 for the others, and a public direction g, how common each
item is, the person's *departure* is z = b x - c g with whole numbers b and c. Here c is b (x · g) / (g · g),
rounded, so that next to nothing of z points along g, and b is as large as the length allows for. For each two
items i < j the person adds z_i z_j.

Why one person moves no more than is said
    With L = ``COOCCURRENCE_NORM``, b is the largest whole number up to ``COOCCURRENCE_FACTOR`` for which Σ z_i² ≤
    2 L and Σ_{i<j} z_i² z_j² ≤ L², where the latter is ((Σ z_i²)² - Σ z_i⁴) / 2: all in integers, so that nothing
    is rounded where it counts. b = 0 always will do. So what a person adds has an L2 norm of at most L; no entry
    is longer than all together, and over p pairs L1 is at most √p times L2. What a person adds hangs on their
    own items and on g, which was released before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity, root_above
from headcount.bounds.ratings.rating_bounds import check_places, positions_in_list
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog

COOCCURRENCE_NORM = 1 << 20
"""The length of all that one person adds, in L2: as so many units, which make 1."""

COOCCURRENCE_FACTOR = 1 << 10
"""What one item may count at most before what is common is taken out."""

MAX_COMMON_DIRECTION = 1 << 7
"""How long the direction may be in any one item."""


@dataclass(frozen=True, eq=False)
class CenteredCooccurrence(Bound[Bounded]):
    """Each two of ``items``, which rise, by how far a person departs in both from what is ``common``.

    Nothing is drawn.
    """

    items: Integers
    common: Integers
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_places(self.items)
        if self.common.shape != self.items.shape:
            raise ValueError(f"there must be one number for each of {self.items.size} items")
        if self.common.min(initial=0) < 0 or self.common.max(initial=0) > MAX_COMMON_DIRECTION:
            raise ValueError(f"how common items are must lie between 0 and {MAX_COMMON_DIRECTION}")

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """Items of the catalogue, whatever the context."""
        return Reading("listed", "none", values=True)

    @property
    def pairs(self) -> int:
        """How many pairs of items there are."""
        return self.items.size * (self.items.size - 1) // 2

    def places(self, items: int) -> NDArray[np.int32]:
        """Return the place of each item of the catalogue among those listed, -1 for others."""
        return positions_in_list(self.items, items)


def centered_cooccurrence_sensitivity(pairs: int) -> Sensitivity:
    """Return how far one person moves the sums over so many pairs of items.

    >>> centered_cooccurrence_sensitivity(4)
    Sensitivity(l1=2097152, l2_squared=1099511627776, linf=1048576)
    """
    return Sensitivity(
        l1=root_above(pairs * COOCCURRENCE_NORM**2), l2_squared=COOCCURRENCE_NORM**2, linf=COOCCURRENCE_NORM
    )


def seal_centered_cooccurrence(sums: Integers, bound: CenteredCooccurrence) -> Bounded:
    """Turn an engine's sums over pairs, the first item with all later ones and so on, into bounded values."""
    if sums.shape != (bound.pairs,):
        raise ValueError(f"there must be one sum for each of {bound.pairs} pairs, not {sums.shape}")
    return Bounded(sums, centered_cooccurrence_sensitivity(bound.pairs), SEAL, unit=COOCCURRENCE_NORM)
