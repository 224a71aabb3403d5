"""Bounds: what one person may add at most, and the only door through which sensitive numbers reach noise.

A bound is a frozen value; an engine interprets it. What comes out is :class:`Bounded`: integers that carry
how far one person joining or leaving can move them. The noise layer accepts nothing else, and nothing outside
this module can make one.

Every random choice inside a bound is drawn per record from the run's secret key, the raw user id, the record
itself and its number among that user's equal records. It depends on nobody else, on no row order, and is the
same in every engine; see :mod:`headcount.engines.draws`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.errors import UsageError
from headcount.noise_law import DiscreteLaplace

Counting = Literal["records", "users"]
Integers = NDArray[np.int64]

_SEAL = object()


@dataclass(frozen=True)
class Sensitivity:
    """How far one person joining or leaving can move a vector: in L1, in L2 (squared), and in any one entry."""

    l1: int
    l2_squared: int
    linf: int

    @property
    def l2(self) -> float:
        """The L2 distance."""
        return math.sqrt(self.l2_squared)


class Bounded:
    """Sensitive integers with their sensitivity: made by bounds, accepted by noise, shown to nobody."""

    __slots__ = ("_sensitivity", "_values")

    def __init__(self, values: Integers, sensitivity: Sensitivity, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("Bounded values are made by bounds alone; see headcount.bounding")
        self._values = values
        self._values.flags.writeable = False
        self._sensitivity = sensitivity

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one person can move the values: fixed when the bound made them."""
        return self._sensitivity

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is public: it comes from the catalogue and the contexts."""
        return self._values.shape

    @property
    def sensitive_values(self) -> Integers:
        """The values themselves: for the noise layer, and for tests."""
        return self._values

    def __repr__(self) -> str:
        return f"<Bounded {self.shape}, {self.sensitivity}>"


@dataclass(frozen=True)
class BoundedCounts:
    """Counts per item, and per item and context (the last column is the unknown context)."""

    items: Bounded
    edges: Bounded


@dataclass(frozen=True)
class Noisy:
    """Released integers and the law of their noise: public from here on."""

    values: Integers
    law: DiscreteLaplace


class Bound(Protocol):
    """What an engine needs to know of a bound."""

    @property
    def limit(self) -> int:
        """At most this many records (or distinct item-context pairs) a user."""

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """The rank of each item, best first and ties equal, or None where all records are alike."""


@dataclass(frozen=True)
class Sample:
    """At most ``limit`` records of each user, drawn uniformly from that user's own history.

    >>> sensitivity(Sample(3), "records")
    Sensitivity(l1=3, l2_squared=9, linf=3)
    >>> sensitivity(Sample(3), "users")
    Sensitivity(l1=3, l2_squared=3, linf=1)
    """

    limit: int

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """None: every record has the same chance."""
        return None


@dataclass(frozen=True)
class Pick:
    """The at most ``limit`` records of each user whose items have the best released scores, ties at random."""

    limit: int
    scores: Noisy

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """Dense ranks of the scores, 0 for the best.

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
    """Return how far one user's kept records can move the counts.

    All kept records may hit one cell when records are counted; a user counts once a cell when users are.
    """
    limit = bound.limit
    if counting == "users":
        return Sensitivity(l1=limit, l2_squared=limit, linf=1)
    return Sensitivity(l1=limit, l2_squared=limit**2, linf=limit)


def certify(bound: Bound, counting: Counting, items: Integers, edges: Integers) -> BoundedCounts:
    """Turn an engine's counts under a bound into bounded values that noise accepts."""
    reach = sensitivity(bound, counting)
    return BoundedCounts(Bounded(items, reach, _SEAL), Bounded(edges, reach, _SEAL))
