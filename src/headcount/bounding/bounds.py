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

from headcount.bounding.bounded import EVERYONE, SEAL, Bounded, BoundedCounts, Integers, Noisy, Sensitivity
from headcount.errors import UsageError

Counting = Literal["records", "users"]
FIXED_POINT = 1 << 16
"""How many units make one record where records are weighted: a weight w counts as floor(w · 2^16) of them."""


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


@dataclass(frozen=True)
class Scale(_Limited):
    """All records of each user, weighted alike so that a user adds at most ``limit`` in all.

    A user with n records counts each with weight min(1, limit / n), cut down to whole multiples of 2^-16. Where
    users are counted, n is the number of different items for the item counts, and of different pairs for the
    edges.

    >>> sensitivity(Scale(3), "users")
    Sensitivity(l1=196608, l2_squared=12884901888, linf=65536)
    """

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


def sensitivity(bound: Bound, counting: Counting) -> Sensitivity:
    """Return how far one user's kept records can move the counts, in the bound's units.

    All kept records may hit one cell when records are counted; a user counts once a cell when users are.
    """
    limit = bound.limit
    if counting == "users":
        return Sensitivity(l1=limit, l2_squared=limit, linf=1).times(bound.unit)
    return Sensitivity(l1=limit, l2_squared=limit**2, linf=limit).times(bound.unit)


def certify(bound: Bound, counting: Counting, items: Integers, edges: Integers) -> BoundedCounts:
    """Turn an engine's counts under a bound into bounded values that noise accepts."""
    reach = sensitivity(bound, counting)

    def sealed(values: Integers) -> Bounded:
        admission = Fraction(bound.admission, EVERYONE)
        return Bounded(values, reach, SEAL, unit=bound.unit, admission=admission)

    return BoundedCounts(sealed(items), sealed(edges))


def certify_activity(users: Integers) -> Bounded:
    """Turn an engine's number of users with 1, 2, 3, … records into bounded values: a user is in one place."""
    return Bounded(users, Sensitivity(l1=1, l2_squared=1, linf=1), SEAL)
