"""Factor gradients: per-item sums of user factors times rating residuals, and products of user factors.

Items have factors, which are released. Where a person's ratings lie above or below what is expected says which of
these factors the person likes: their *taste*. For each listed item that they rated, the person adds the taste
times how far that rating lies from what is expected; and once, for all these items together, the products of
each two numbers of the taste. That is what least squares needs to fit the factors of items anew, where it is known
how many people rated each: those who did differ little in their tastes from those who rated others.

Why one person moves no more than is said
    With r factors a person adds e t_k, for each of their n listed items and k ≤ r, and n t_k t_l / 256, for
    k ≤ l ≤ r, where e is the distance of the rating, cut to two stars, and t the taste. Before they are shortened
    these numbers have the squared length q Σ e² + n² p / 256², with q = Σ t_k² and p = Σ_{k≤l} t_k² t_l². With A
    one part in 2³¹ less than ``GRADIENT_NORM``, all of them are multiplied by one factor: 1 if that length is at
    most A, else A divided by it. What A is less is more than floating point can add: e, t, q, Σ e² and p are whole
    numbers, and a dozen operations in double precision follow. Each number is then cut toward zero to whole units,
    which makes none longer. So all that a person adds has an L2 norm of at most ``GRADIENT_NORM``; no entry is
    longer than all together, and over m numbers L1 is at most √m times L2.

    The taste is worked out from the person's own ratings, public constants and the factors and offsets that were
    released before, so what a person adds hangs on nobody else. However it is worked out, the length is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity, root_above
from headcount.bounds.ratings.rating_bounds import UNITS_PER_STAR, RatingBound, check_places, positions_in_list

GRADIENT_NORM = UNITS_PER_STAR**2
"""The length of all that one person adds, in L2: as so many units, which make 1."""

PRODUCT_DIVISOR = 256
"""What products of tastes are divided by: there are few of them, over all people, and little noise moves them."""

MAX_FACTOR = 4 * UNITS_PER_STAR
"""How long a factor, or a number of a taste, may be."""


@dataclass(frozen=True, eq=False)
class FactorGradients(RatingBound):
    """Each of ``items``, which rise, by the tastes of those who rated it, and how they did.

    ``factors`` are released, a row for each of ``items``, in units of 1/1024; ``offsets`` are those of
    :class:`~headcount.bounds.Pairs`, for all items of the catalogue.
    """

    items: Integers
    factors: Integers
    offsets: Integers

    def __post_init__(self) -> None:
        check_places(self.items)
        if self.factors.ndim != 2 or self.factors.shape[0] != self.items.size or not self.factors.shape[1]:
            raise ValueError(f"there must be factors of each of {self.items.size} items")
        if np.abs(self.factors).max(initial=0) > MAX_FACTOR:
            raise ValueError(f"factors must lie within {MAX_FACTOR}")

    @property
    def size(self) -> int:
        """How many numbers there are: r for each item, and one for each two of r."""
        depth: int = self.factors.shape[1]
        return self.items.size * depth + depth * (depth + 1) // 2

    def places(self, items: int) -> NDArray[np.int32]:
        """Return the place of each item of the catalogue among those listed, -1 for others."""
        return positions_in_list(self.items, items)


def factor_gradients_sensitivity(numbers: int) -> Sensitivity:
    """Return how far one person moves so many sums.

    >>> factor_gradients_sensitivity(4)
    Sensitivity(l1=2097152, l2_squared=1099511627776, linf=1048576)
    """
    return Sensitivity(l1=root_above(numbers * GRADIENT_NORM**2), l2_squared=GRADIENT_NORM**2, linf=GRADIENT_NORM)


def seal_factor_gradients(sums: Integers, bound: FactorGradients) -> Bounded:
    """Turn an engine's sums, item by item and then of products, into bounded values."""
    if sums.shape != (bound.size,):
        raise ValueError(f"there must be {bound.size} sums, not {sums.shape}")
    return Bounded(sums, factor_gradients_sensitivity(sums.size), SEAL, unit=GRADIENT_NORM)
