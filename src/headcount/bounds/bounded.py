"""Sealed sensitive values with their sensitivity: the only input that the noise layer accepts.

Only this package makes them: bounds from what engines count, maps and scores from what bounds made.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.accounting.noise_distributions import NoiseDistribution

ALL_USERS = 1 << 64
"""An admission of so many in 2^64: all users are taken."""

MAX_GAP = 2**31 - 1
"""How far behind the best a candidate can be, as far as a choice can tell."""

SEAL = object()
"""What only this package hands over."""


@dataclass(frozen=True)
class Sensitivity:
    """How far one user joining or leaving can move a vector: in L1, in L2 (squared), and in any one entry."""

    l1: int
    l2_squared: int
    linf: int

    @classmethod
    def of_l1(cls, l1: int) -> Sensitivity:
        """Return that of a vector of which only the distance in L1 is known: no other is larger."""
        return cls(l1, l1**2, l1)

    @classmethod
    def of_l2(cls, l2: int, size: int) -> Sensitivity:
        """Return that of ``size`` numbers of which only the distance in L2 is known.

        No entry is longer than all together, and L1 is at most √size times L2.
        """
        return cls(root_above(size * l2**2), l2**2, l2)

    def beside(self, other: Sensitivity) -> Sensitivity:
        """Return that of two vectors side by side: L1 adds up, and so does the square of L2."""
        return Sensitivity(self.l1 + other.l1, self.l2_squared + other.l2_squared, max(self.linf, other.linf))

    @property
    def l2(self) -> float:
        """The L2 distance."""
        return math.sqrt(self.l2_squared)

    def times(self, factor: int) -> Sensitivity:
        """Return the sensitivity of the vector multiplied by a whole number."""
        return Sensitivity(self.l1 * factor, self.l2_squared * factor**2, self.linf * factor)

    def of_some(self, size: int) -> Sensitivity:
        """Return the sensitivity of ``size`` of the entries.

        k entries that move by x each, or by y in L2, move by k · x, or √k · y, in L1, and by √k · x in L2.
        """
        l1 = min(self.l1, size * self.linf, root_above(size * self.l2_squared))
        return Sensitivity(l1, min(self.l2_squared, size * self.linf**2), self.linf)


def root_above(number: int) -> int:
    """Return the square root, rounded up.

    >>> [root_above(number) for number in (0, 1, 2, 4, 5, 10**40 + 1)]
    [0, 1, 2, 2, 3, 100000000000000000001]
    """
    return 0 if number == 0 else math.isqrt(number - 1) + 1


class Bounded:
    """Sensitive integers with their sensitivity: made by bounds, accepted by noise, shown to nobody.

    The values count whole multiples of 1 / ``unit``; the sensitivity is that of these integers. ``admission`` is
    the probability that a user was taken into account at all, drawn for each user apart and known to nobody.

    ``apart`` says that there are two tables, one after the other: of users within a limit, whose records count
    whole, and of all others. Nobody is in both.
    """

    __slots__ = ("_admission", "_apart", "_sensitivity", "_unit", "_values")

    def __init__(
        self,
        values: Integers,
        sensitivity: Sensitivity,
        seal: object,
        *,
        unit: int = 1,
        admission: Fraction = Fraction(1),
        apart: bool = False,
    ) -> None:
        if seal is not SEAL:
            raise TypeError("Bounded values are made by bounds alone; see headcount.bounds")
        self._values = values
        self._values.flags.writeable = False
        self._sensitivity = sensitivity
        self._unit = unit
        self._admission = admission
        self._apart = apart

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one user can move the values: fixed when the bound made them."""
        return self._sensitivity

    @property
    def unit(self) -> int:
        """How many units make one record."""
        return self._unit

    @property
    def admission(self) -> Fraction:
        """The probability that a user was taken into account at all."""
        return self._admission

    @property
    def apart(self) -> bool:
        """Whether users whose records count whole are in a first table, and all others in a second one."""
        return self._apart

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is public: it comes from the catalogue and the contexts."""
        return self._values.shape

    @property
    def size(self) -> int:
        """The number of values, which is public as well."""
        return int(self._values.size)

    @property
    def sensitive_values(self) -> Integers:
        """The values themselves: for the noise layer, and for tests."""
        return self._values

    def with_others(self, other: Bounded) -> Bounded:
        """Add what was measured of other users under the same bound: nobody may be in both.

        So the sensitivity stays: one user moves one of the two. For engines, which deal users to parts.
        """
        if (self.shape, self._sensitivity, self._unit, self._admission, self._apart) != (
            other.shape, other._sensitivity, other._unit, other._admission, other._apart
        ):  # fmt: skip
            raise ValueError(f"{self} and {other} are not of the same bound")
        return self._with(self._values + other._values)

    def with_values(self, values: Integers, seal: object) -> Bounded:
        """Return other values under the same bound: for this package alone."""
        if seal is not SEAL:
            raise TypeError("Bounded values are made by bounds alone; see headcount.bounds")
        return self._with(values)

    def _with(self, values: Integers) -> Bounded:
        return Bounded(
            values, self._sensitivity, SEAL, unit=self._unit, admission=self._admission, apart=self._apart
        )

    def __repr__(self) -> str:
        return f"<Bounded {self.shape}, {self.sensitivity}>"


class BoundedGroup(ABC):
    """Several bounded tables that were measured together, each with a sensitivity of its own."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Bounded, ...]:
        """All tables, in a fixed order."""

    @abstractmethod
    def with_parts(self, parts: tuple[Bounded, ...]) -> Self:
        """Return the same tables with other values."""

    def with_others(self, other: Self) -> Self:
        """Add what was measured of other users: see :meth:`Bounded.with_others`."""
        if len(self.parts) != len(other.parts):
            raise ValueError("these tables are not of the same bound")
        both = zip(self.parts, other.parts, strict=True)
        return self.with_parts(tuple(own.with_others(added) for own, added in both))


@dataclass(frozen=True)
class BoundedCounts(BoundedGroup):
    """Counts per item, and per item and context (the last column is the unknown context)."""

    items: Bounded
    edges: Bounded

    @property
    def parts(self) -> tuple[Bounded, ...]:
        """Both tables."""
        return self.items, self.edges

    def with_parts(self, parts: tuple[Bounded, ...]) -> BoundedCounts:
        """Return the same tables with other values."""
        return BoundedCounts(*parts)


@dataclass(frozen=True)
class Noisy:
    """Released integers, as multiples of the law's step, and the law of their noise: public from here on."""

    values: Integers
    distribution: NoiseDistribution

    @property
    def counts(self) -> NDArray[np.float64]:
        """The values in records."""
        return np.asarray(self.values * float(self.distribution.step), dtype=np.float64)


class Scored:
    """How far each candidate of a public list is behind the best: made by scores, for noise to choose from.

    ``spread`` is how differently one user can move two candidates: the largest change minus the smallest. A
    choice with probability proportional to exp(-ε · behind / spread) is ε-differentially private: what all
    candidates gain alike cancels. The utilities are taken over, not copied.

    ``rise`` is how far a user who joins can raise a candidate, where joining lowers none: then the several best
    can be peeled off one by one. It is None where utilities go up and down.
    """

    __slots__ = ("_behind", "_rise", "_spread")

    def __init__(self, utilities: Integers, spread: int, seal: object, *, rise: int | None = None) -> None:
        if seal is not SEAL:
            raise TypeError("Scored candidates are made by headcount.bounds alone")
        # cutting the gap moves no candidate by more than its utility and the best one moved; there may be many
        # millions of them, so it is done in place
        np.subtract(utilities.max(), utilities, out=utilities)
        np.minimum(utilities, MAX_GAP, out=utilities)
        self._behind: NDArray[np.int32] = utilities.astype(np.int32)
        self._behind.flags.writeable = False
        self._spread = spread
        self._rise = rise

    def loosened(self, spread: int) -> Scored:
        """Return the same candidates under a weaker promise, which holds as well and makes a choice less sharp.

        >>> Scored(np.array([5, 9]), 2, SEAL).loosened(8)
        <Scored 2 candidates, spread 8>
        """
        if spread < self.spread:
            raise ValueError(f"a spread of {self.spread} cannot be told to be {spread}")
        return Scored(-self._behind.astype(np.int64), spread, SEAL, rise=self._rise)

    @property
    def rise(self) -> int | None:
        """How far a user who joins can raise a candidate, where joining lowers none."""
        return self._rise

    @property
    def spread(self) -> int:
        """How differently one user can move two candidates."""
        return self._spread

    @property
    def size(self) -> int:
        """How many candidates there are, which is public."""
        return int(self._behind.size)

    @property
    def sensitive_gaps(self) -> NDArray[np.int32]:
        """How far behind the best each one is: for the noise layer, and for tests."""
        return self._behind

    def __repr__(self) -> str:
        return f"<Scored {self.size} candidates, spread {self.spread}>"
