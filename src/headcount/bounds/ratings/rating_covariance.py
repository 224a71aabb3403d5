"""Rating covariance: products of what users gave two items, or how many have both, each user clipped to a norm.

Why one user moves no more than is said
    A user's factors are shortened alike, until all of the user's products have a length of at most ``limit`` in
    the norm, and cut toward zero to whole multiples of 1/256. No product is longer than all together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bound import FIXED_POINT, Norm, check_limit
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.ratings.rating_bound import (
    MAX_RESIDUAL,
    PRIOR_RATING,
    PRIOR_RATINGS,
    ItemPairs,
    RatingBound,
    ratings_of,
)
from headcount.events.log import EventLog

_NO_OFFSETS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RatingCovariance(ItemPairs, RatingBound):
    """How far a user's ratings of two items lie from what is expected, multiplied; or that they have both.

    ``items`` are the items whose pairs are counted, rising; ``offsets`` are released, in units, for all items of
    the catalogue: a rating is expected to be the item's offset plus the mean of what the user's ratings are
    above theirs, with ``PRIOR_RATINGS`` usual ones. Without offsets every item that a user has counts 1, and so
    does every pair. All pairs of a user have a length of at most ``limit`` in the ``norm``; for that the factors
    are made shorter alike, and cut toward zero to whole multiples of 1/256.
    """

    limit: int
    norm: Norm
    items: Integers
    offsets: Integers | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        super().__post_init__()

    @property
    def unit(self) -> int:
        """Products are whole multiples of 2^-16."""
        return FIXED_POINT

    def sensitivity(self, size: int) -> Sensitivity:
        """Return how far one user moves so many sums.

        >>> RatingCovariance(10, "l1", np.array([0, 2, 5])).sensitivity(3)
        Sensitivity(l1=655360, l2_squared=429496729600, linf=655360)
        """
        length = self.limit * FIXED_POINT
        return Sensitivity.of_l1(length) if self.norm == "l1" else Sensitivity.of_l2(length, size)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Add up products of what users gave two items, or how many have both."""
        from headcount.bounds.ratings.kernels import pair_sums

        rated = ratings_of(passes, log)
        places, released = self.places(rated.size), _NO_OFFSETS if self.offsets is None else self.offsets
        clipping = self.limit, self.norm == "l2", PRIOR_RATING, PRIOR_RATINGS, MAX_RESIDUAL
        settings = (*clipping, places, self.items.size, released)
        return self.seal(self.sum_over_users(passes, rated, pair_sums, settings, self.shape))
