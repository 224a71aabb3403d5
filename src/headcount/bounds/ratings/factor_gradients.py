"""Factor gradients: per-item sums of user factors times rating residuals, and products of user factors.

Items have factors, which are released. Where a user's ratings lie above or below what is expected says which of
these factors the user likes: their *taste*. For each listed item that they rated, the user adds the taste
times how far that rating lies from what is expected; and once, for all these items together, the products of
each two numbers of the taste. That is what least squares needs to fit the factors of items anew, where it is known
how many users rated each: those who did differ little in their tastes from those who rated others.

Why one user moves no more than is said
    With r factors a user adds e t_k, for each of their n listed items and k ≤ r, and n t_k t_l / 256, for
    k ≤ l ≤ r, where e is the distance of the rating, cut to two stars, and t the taste. Before they are shortened
    these numbers have the squared length q Σ e² + n² p / 256², with q = Σ t_k² and p = Σ_{k≤l} t_k² t_l². With A
    one part in 2³¹ less than ``GRADIENT_NORM``, all of them are multiplied by one factor: 1 if that length is at
    most A, else A divided by it. What A is less is more than floating point can add: e, t, q, Σ e² and p are whole
    numbers, and a dozen operations in double precision follow. Each number is then cut toward zero to whole units,
    which makes none longer. So all that a user adds has an L2 norm of at most ``GRADIENT_NORM``; no entry is
    longer than all together, and over m numbers L1 is at most √m times L2.

    The taste is worked out from the user's own ratings, public constants and the factors and offsets that were
    released before, so what a user adds depends on nobody else. However it is worked out, the length is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.ratings.rating_bound import (
    MAX_RESIDUAL,
    PRIOR_RATING,
    PRIOR_RATINGS,
    UNITS_PER_STAR,
    ItemPairs,
    RatingBound,
    ratings_of,
)
from headcount.events.log import EventLog

GRADIENT_NORM = UNITS_PER_STAR**2
"""The length of all that one user adds, in L2: as so many units, which make 1."""

PRODUCT_DIVISOR = 256
"""What products of tastes are divided by: there are few of them, over all users, and little noise moves them."""

MAX_FACTOR = 4 * UNITS_PER_STAR
"""How long a factor, or a number of a taste, may be."""


@dataclass(frozen=True, eq=False)
class FactorGradients(ItemPairs, RatingBound):
    """Each of ``items``, which rise, by the tastes of those who rated it, and how they did.

    ``factors`` are released, a row for each of ``items``, in units of 1/1024; ``offsets`` are those of
    :class:`~headcount.bounds.Pairs`, for all items of the catalogue.
    """

    items: Integers
    factors: Integers
    offsets: Integers

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factors.ndim != 2 or self.factors.shape[0] != self.items.size or not self.factors.shape[1]:
            raise ValueError(f"there must be factors of each of {self.items.size} items")
        if np.abs(self.factors).max(initial=0) > MAX_FACTOR:
            raise ValueError(f"factors must lie within {MAX_FACTOR}")

    @property
    def unit(self) -> int:
        """So many units make a length of 1."""
        return GRADIENT_NORM

    @property
    def shape(self) -> tuple[int]:
        """With r factors, r numbers for each item, and one for each two of r."""
        depth: int = self.factors.shape[1]
        return (self.items.size * depth + depth * (depth + 1) // 2,)

    def sensitivity(self, size: int) -> Sensitivity:
        """Return how far one user moves so many sums."""
        return Sensitivity.of_l2(GRADIENT_NORM, size)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Add up tastes times residuals, item by item, and then products of tastes."""
        from headcount.bounds.ratings.kernels import factor_gradient_sums

        rated = ratings_of(passes, log)
        limits = GRADIENT_NORM, PRIOR_RATING, PRIOR_RATINGS, MAX_RESIDUAL, MAX_FACTOR, PRODUCT_DIVISOR
        settings = (*limits, self.places(rated.size), self.factors, self.offsets)
        return self.seal(self.sum_over_users(passes, rated, factor_gradient_sums, settings, self.shape))
