"""Bounds on ratings: user counts, per-item rating offsets, and the covariance of item pairs.

A person rates an item once: a rating is a whole number of 1/1024 of a quarter of the declared range, counted from
its lower end. So a range from 1 to 5 gives 0 to 4096, and everything here is said for that range; others are
stretched to it. All that a person adds is worked out from their own ratings and from released numbers alone, and
made shorter until it keeps the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import FIXED_POINT, Bound, Norm, check_limit
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity, root_above
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog

UNITS_PER_STAR = 1024
"""How many units make one star, a quarter of the range of ratings."""

PRIOR_RATING = 2662
"""The usual rating, 3.6 stars of 1 to 5: where little is known of a person, what they are taken to give."""

PRIOR_RATINGS = 5
"""As many usual ratings are added to each person's own, so that one rating does not make a character."""

MAX_RESIDUAL = 2 * UNITS_PER_STAR
"""Ratings are cut where they lie this far from what is expected."""

MAX_ITEMS = 1 << 13
"""Of so many items at most are the pairs counted: a person's sums then fit 64 bits."""


class RatingBound(Bound[Bounded]):
    """What people rated, or have; nothing is drawn."""

    draws: ClassVar[bool] = False

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """Items of the catalogue, and values where the log has them."""
        return Reading("listed", "none", values=True)


@dataclass(frozen=True)
class Raters(RatingBound):
    """Each person once who rated, or has, anything."""


@dataclass(frozen=True)
class RatingOffsets(RatingBound):
    """How far a person's ratings lie from that person's own mean, item by item, and that they rated at all.

    With e the distance of a rating from the person's mean, ``PRIOR_RATINGS`` usual ratings included, each rated
    item gets (e / 0.9, 1/2), e at most two stars. All of a person's numbers together have a length of at most
    ``limit`` stars in the ``norm``; they are cut toward zero to whole units.

    >>> seal_rating_offsets(np.zeros((2, 5), np.int64), RatingOffsets(7, "l2")).sensitivity
    Sensitivity(l1=22668, l2_squared=51380224, linf=7168)
    """

    limit: int
    norm: Norm

    def __post_init__(self) -> None:
        check_limit(self.limit)


@dataclass(frozen=True, eq=False)
class RatingCovariance(RatingBound):
    """How far a person's ratings of two items lie from what is expected, multiplied; or that they have both.

    ``items`` are the items whose pairs are counted, rising; ``offsets`` are released, in units, for all items of
    the catalogue: a rating is expected to be the item's offset plus the mean of what the person's ratings are
    above theirs, with ``PRIOR_RATINGS`` usual ones. Without offsets every item that a person has counts 1, and so
    does every pair. All pairs of a person have a length of at most ``limit`` in the ``norm``; for that the factors
    are made shorter alike, and cut toward zero to whole multiples of 1/256.
    """

    limit: int
    norm: Norm
    items: Integers
    offsets: Integers | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        check_places(self.items)

    @property
    def pairs(self) -> int:
        """How many pairs of items there are."""
        return self.items.size * (self.items.size - 1) // 2

    def places(self, items: int) -> NDArray[np.int32]:
        """Return the place of each item of the catalogue among those whose pairs are counted, -1 for others."""
        return positions_in_list(self.items, items)


def check_places(items: Integers) -> None:
    """Refuse items whose pairs cannot be counted: too many, or in no order."""
    if items.size > MAX_ITEMS or (np.diff(items) <= 0).any() or (items < 0).any():
        raise ValueError(f"items must be at most {MAX_ITEMS} rising places")


def positions_in_list(listed: Integers, items: int) -> NDArray[np.int32]:
    """Return the place of each of so many items among those listed, -1 for others."""
    places = np.full(items, -1, dtype=np.int32)
    places[listed] = np.arange(listed.size)
    return places


def seal_raters(users: int) -> Bounded:
    """Turn an engine's number of people into a bounded one."""
    return Bounded(np.array([users], dtype=np.int64), Sensitivity(1, 1, 1), SEAL)


def seal_rating_offsets(sums: Integers, bound: RatingOffsets) -> Bounded:
    """Turn an engine's sums of distances and of halves, one row each, into bounded values, in stars."""
    return Bounded(
        sums, _norm_sensitivity(bound.limit * UNITS_PER_STAR, bound.norm, sums.size), SEAL, unit=UNITS_PER_STAR
    )


def seal_rating_covariance(sums: Integers, bound: RatingCovariance) -> Bounded:
    """Turn an engine's sums over pairs of items, the first with all later ones and so on, into bounded values.

    >>> bound = RatingCovariance(10, "l1", np.array([0, 2, 5]))
    >>> seal_rating_covariance(np.zeros(3, np.int64), bound).sensitivity
    Sensitivity(l1=655360, l2_squared=429496729600, linf=655360)
    """
    if sums.shape != (bound.pairs,):
        raise ValueError(f"there must be one sum for each of {bound.pairs} pairs, not {sums.shape}")
    return Bounded(
        sums, _norm_sensitivity(bound.limit * FIXED_POINT, bound.norm, sums.size), SEAL, unit=FIXED_POINT
    )


def _norm_sensitivity(limit: int, norm: Norm, size: int) -> Sensitivity:
    """Return how far somebody whose numbers have this length moves the sums; no number is longer than all."""
    l1 = limit if norm == "l1" else root_above(size * limit**2)
    return Sensitivity(l1=l1, l2_squared=limit**2, linf=limit)
