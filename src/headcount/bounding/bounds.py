"""Bounds: what one person may add at most.

A bound is a frozen value; an engine interprets it. What comes out is :class:`Bounded`: integers that carry
how far one person joining or leaving can move them.

Every random choice inside a bound is drawn per record from the run's secret key, the raw user id, the record
itself and its number among that user's equal records. It depends on nobody else, on no row order, and is the
same in every engine; see :mod:`headcount.engines.draws`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Integers
from headcount.bounding.bounded import EVERYONE, SEAL, Bounded, BoundedCounts, Noisy, Sensitivity, root_above
from headcount.errors import UsageError

Counting = Literal["records", "users"]
Norm = Literal["l1", "l2"]
FIXED_POINT = 1 << 16
"""How many units make one record where records are weighted: a weight w counts as floor(w · 2^16) of them."""

LARGEST_FACTOR = 1 << 15
"""How far records may lean: limit · factor · 2^16 stays below 2^62."""


class Bound(Protocol):
    """What an engine needs to know of a bound."""

    @property
    def limit(self) -> int:
        """At most this many records (or distinct item-context pairs) a user."""

    @property
    def unit(self) -> int:
        """How many units make one record: 1 where records are kept whole, or ``FIXED_POINT``."""

    @property
    def admission(self) -> int:
        """Of 2^64 users, so many are taken into account at all, by lot."""

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """The rank of each item, best first and ties equal, or None where all records are alike."""

    @property
    def norm(self) -> Norm:
        """What is limited: a user's sum ("l1"), or the sum of squares ("l2")."""

    @property
    def apart(self) -> bool:
        """Whether users within the limit and users above it are counted in two tables, one after the other."""

    @property
    def leaning(self) -> Leaning | None:
        """How much more a record about one item weighs than about another, or None where all weigh alike."""


@dataclass(frozen=True)
class _Limited:
    """What most bounds have in common: whole records, all alike, of everyone."""

    limit: int
    admission = EVERYONE

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """None: all records are alike."""
        return None

    @property
    def unit(self) -> int:
        """Records are kept whole."""
        return 1

    @property
    def norm(self) -> Norm:
        """A user's sum is limited."""
        return "l1"

    @property
    def apart(self) -> bool:
        """All users are counted in one table."""
        return False

    @property
    def leaning(self) -> Leaning | None:
        """None: records lean to no item."""
        return None


@dataclass(frozen=True)
class Sample(_Limited):
    """At most ``limit`` records of each user, drawn uniformly from that user's own history.

    >>> sensitivity(Sample(3), "records")
    Sensitivity(l1=3, l2_squared=9, linf=3)
    >>> sensitivity(Sample(3), "users")
    Sensitivity(l1=3, l2_squared=3, linf=1)
    """


@dataclass(frozen=True)
class SampleUsers(_Limited):
    """Some users, by lot with probability ``admission`` / 2^64 each; of these at most ``limit`` records.

    Whether a user is taken hangs on that user's own secret draw. Nobody knows who is in, and that protects: see
    :func:`headcount.noise.laplace.epsilon_within`.

    >>> sensitivity(SampleUsers(3, 1 << 60), "records")
    Sensitivity(l1=3, l2_squared=9, linf=3)
    """

    admission: int = EVERYONE

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.admission) is not int or not 0 <= self.admission <= EVERYONE:
            raise UsageError("admission must be a whole number between 0 and 2^64", given=self.admission)


@dataclass(frozen=True, eq=False)
class Leaning:
    """How much more a record about one item weighs than about another: public whole numbers, one an item."""

    factors: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.factors.min(initial=1) < 1 or self.factors.max(initial=1) > LARGEST_FACTOR:
            raise ValueError(f"factors must lie between 1 and {LARGEST_FACTOR}")

    def of_items(self, items: int) -> NDArray[np.int64]:
        """Return the factors, which must be those of so many items: kernels do not look."""
        if self.factors.shape != (items,) or self.factors.dtype != np.int64:
            raise ValueError(f"there must be {items} factors, not {self.factors.shape} of {self.factors.dtype}")
        return self.factors


@dataclass(frozen=True)
class Scale(_Limited):
    """All records of each user, weighted so that a user adds at most ``limit`` in all.

    A user with n records counts each with weight min(1, limit / n), cut down to whole multiples of 2^-16. Where
    users are counted, n is the number of different items for the item counts, and of different pairs for the
    edges. With ``norm`` "l2", the weight is min(1, √(limit / n)) and the sum of squares is at most ``limit``: for
    users that are counted once a cell, alone.

    With ``apart``, users with at most ``limit`` records are counted in one table and the others in a second one.
    A user is in one of them, so both together move no further than one.

    With ``leaning``, a user above the limit fills it up like a set of tubs: each record gets min(1, c · factor of
    its item), with the one c at which all together weigh the limit.

    >>> sensitivity(Scale(3), "users")
    Sensitivity(l1=196608, l2_squared=12884901888, linf=65536)
    >>> sensitivity(Scale(3, norm="l2"), "users", 12)
    Sensitivity(l1=393216, l2_squared=12884901888, linf=65536)
    """

    norm: Norm = "l1"
    apart: bool = False
    leaning: Leaning | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm == "l2" and self.leaning is not None:
            raise ValueError("records cannot lean where the sum of squares is limited")

    @property
    def unit(self) -> int:
        """Weights are whole multiples of 2^-16."""
        return FIXED_POINT


@dataclass(frozen=True)
class Pick(_Limited):
    """The at most ``limit`` records of each user whose items have the best released scores, ties at random."""

    scores: Noisy

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """Dense ranks of the scores, 0 for the best.

        >>> from headcount.noise_law import DiscreteLaplace
        >>> noisy = Noisy(np.array([5, 9, 5]), DiscreteLaplace.from_json({"scale": "1"}))
        >>> Pick(2, noisy).ranks
        array([1, 0, 1])
        """
        _, ascending = np.unique(self.scores.values, return_inverse=True)
        return np.asarray(ascending.max(initial=0) - ascending, dtype=np.int64)


def check_limit(limit: int, name: str = "limit") -> None:
    """Refuse a limit that is not a positive whole number."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 2**31 - 1:
        raise UsageError(f"{name} must be a whole number of at least 1", given=limit, remedy=f"try {name} 10")


def sensitivity(bound: Bound, counting: Counting, columns: int | None = None) -> Sensitivity:
    """Return how far one user's kept records can move the counts, in the bound's units.

    All kept records may hit one cell when records are counted; a user counts once a cell when users are. Where the
    sum of squares is limited, k cells move by at most √(k · limit) in L1, so the number of columns matters.
    """
    limit = bound.limit
    if bound.norm == "l2":
        if counting != "users" or columns is None:
            raise UsageError(
                "a limited sum of squares needs every person to count once a cell", remedy="add --count users"
            )
        return Sensitivity(l1=root_above(limit * columns), l2_squared=limit, linf=1).times(bound.unit)
    if counting == "users":
        return Sensitivity(l1=limit, l2_squared=limit, linf=1).times(bound.unit)
    return Sensitivity(l1=limit, l2_squared=limit**2, linf=limit).times(bound.unit)


def certify(bound: Bound, counting: Counting, items: Integers, edges: Integers) -> BoundedCounts:
    """Turn an engine's counts under a bound into bounded values that noise accepts."""

    def sealed(values: Integers) -> Bounded:
        reach = sensitivity(bound, counting, values.size // 2 if bound.apart else values.size)
        admission = Fraction(bound.admission, EVERYONE)
        return Bounded(values, reach, SEAL, unit=bound.unit, admission=admission)

    return BoundedCounts(sealed(items), sealed(edges))


def certify_activity(users: Integers) -> Bounded:
    """Turn an engine's number of users with 1, 2, 3, … records into bounded values: a user is in one place."""
    return Bounded(users, Sensitivity(l1=1, l2_squared=1, linf=1), SEAL)
