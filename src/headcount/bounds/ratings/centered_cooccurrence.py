"""Centered co-occurrence: products over item pairs of what a user has, projected off a public direction.

A user has some of the listed items. What they have in common with everybody says least of them and weighs most,
so it is taken out: of x, 1 for each item they have and 0 for the others, and a public direction g, how common each
item is, the user's *departure* is z = b x - c g with whole numbers b and c. Here c is b (x · g) / (g · g),
rounded, so that next to nothing of z points along g, and b is as large as the length allows for. For each two
items i < j the user adds z_i z_j.

Why one user moves no more than is said
    With L = ``COOCCURRENCE_NORM``, b is the largest whole number up to ``COOCCURRENCE_FACTOR`` for which Σ z_i² ≤
    2 L and Σ_{i<j} z_i² z_j² ≤ L², where the latter is ((Σ z_i²)² - Σ z_i⁴) / 2: all in integers, so that nothing
    is rounded where it counts. b = 0 always will do. So what a user adds has an L2 norm of at most L; no entry
    is longer than all together, and over p pairs L1 is at most √p times L2. What a user adds depends on their
    own items and on g, which was released before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.ratings.rating_bound import ItemPairs, RatingBound, ratings_of
from headcount.events.log import EventLog

COOCCURRENCE_NORM = 1 << 20
"""The length of all that one user adds, in L2: as so many units, which make 1."""

COOCCURRENCE_FACTOR = 1 << 10
"""What one item may count at most before what is common is taken out."""

MAX_COMMON_DIRECTION = 1 << 7
"""How long the direction may be in any one item."""


@dataclass(frozen=True, eq=False)
class CenteredCooccurrence(ItemPairs, RatingBound):
    """Each two of ``items``, which rise, by how far a user departs in both from what is ``common``.

    Nothing is drawn.
    """

    items: Integers
    common: Integers

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.common.shape != self.items.shape:
            raise ValueError(f"there must be one number for each of {self.items.size} items")
        if self.common.min(initial=0) < 0 or self.common.max(initial=0) > MAX_COMMON_DIRECTION:
            raise ValueError(f"how common items are must lie between 0 and {MAX_COMMON_DIRECTION}")

    @property
    def unit(self) -> int:
        """So many units make a length of 1."""
        return COOCCURRENCE_NORM

    def sensitivity(self, size: int) -> Sensitivity:
        """Return how far one user moves the sums over so many pairs of items."""
        return centered_cooccurrence_sensitivity(size)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Add up products over pairs of items of what users have, the common direction taken out."""
        from headcount.bounds.ratings.kernels import centered_cooccurrence_sums

        rated = ratings_of(passes, log)
        common = self.common.astype(np.int64)
        settings = (self.places(rated.size), common, COOCCURRENCE_NORM, COOCCURRENCE_FACTOR)
        shape = (self.pairs + common.size + 1,)
        sums = self.sum_over_users(passes, rated, centered_cooccurrence_sums, settings, shape)
        products, along, common_squared = sums[: self.pairs], sums[self.pairs : -1], sums[-1]
        first, second = np.triu_indices(common.size, 1)
        crossed = along[first] * common[second] + along[second] * common[first]
        return self.seal(products - crossed + common_squared * common[first] * common[second])


def centered_cooccurrence_sensitivity(pairs: int) -> Sensitivity:
    """Return how far one user moves the sums over so many pairs of items.

    >>> centered_cooccurrence_sensitivity(4)
    Sensitivity(l1=2097152, l2_squared=1099511627776, linf=1048576)
    """
    return Sensitivity.of_l2(COOCCURRENCE_NORM, pairs)
