"""The base class and the sensitivity of bounds on item counts and item-context counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, Counting, Norm, check_limit
from headcount.bounds.bounded import ALL_USERS, SEAL, Bounded, BoundedCounts, Sensitivity, root_above

if TYPE_CHECKING:
    from headcount.bounds.counts.item_subset import ItemSubset


@dataclass(frozen=True)
class CountBound(Bound[BoundedCounts]):
    """At most ``limit`` records (or distinct item-context pairs) of a user; what is said here holds for most.

    ``admission`` says how many of 2^64 users are taken into account at all, by lot.
    """

    limit: int
    admission = ALL_USERS

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """The rank of each item, best first and ties equal, or None where all records are alike."""
        return None

    @property
    def unit(self) -> int:
        """How many units make one record: 1 where records are kept whole, or ``FIXED_POINT``."""
        return 1

    @property
    def norm(self) -> Norm:
        """What is limited: a user's sum ("l1"), or the sum of squares ("l2")."""
        return "l1"

    @property
    def apart(self) -> bool:
        """Whether users within the limit and users above it are counted in two tables, one after the other."""
        return False

    @property
    def among(self) -> ItemSubset | None:
        """The items that are looked at, or None where all are."""
        return None


def sensitivity(bound: CountBound, counting: Counting, columns: int | None = None) -> Sensitivity:
    """Return how far one user's kept records can move the counts, in the bound's units.

    All kept records may hit one cell when records are counted; a user counts once a cell when users are. Where the
    sum of squares is limited, k cells move by at most √(k · limit) in L1, so the number of columns matters.
    """
    limit = bound.limit
    if bound.norm == "l2":
        if columns is None:
            raise ValueError("a limited sum of squares moves counts as far as there are columns")
        largest = 1 if counting == "users" else root_above(limit)
        return Sensitivity(l1=root_above(limit * columns), l2_squared=limit, linf=largest).times(bound.unit)
    if counting == "users":
        return Sensitivity(l1=limit, l2_squared=limit, linf=1).times(bound.unit)
    return Sensitivity(l1=limit, l2_squared=limit**2, linf=limit).times(bound.unit)


def seal_counts(bound: CountBound, counting: Counting, items: Integers, edges: Integers) -> BoundedCounts:
    """Turn an engine's counts under a bound into bounded values that noise accepts."""

    def sealed(values: Integers) -> Bounded:
        sensitivity_of_counts = sensitivity(bound, counting, values.size // 2 if bound.apart else values.size)
        admission = Fraction(bound.admission, ALL_USERS)
        return Bounded(
            values, sensitivity_of_counts, SEAL, unit=bound.unit, admission=admission, apart=bound.apart
        )

    return BoundedCounts(sealed(items), sealed(edges))


def split_light_and_heavy(counts: Bounded) -> tuple[Bounded, Bounded]:
    """Take the tables of people within a limit and of all others apart: nobody is in both.

    Records of the first count whole, so their table is one of whole numbers, and moves by whole numbers.

    >>> reach = Sensitivity(l1=3, l2_squared=3, linf=1).times(4)
    >>> both = Bounded(np.array([[8, 0], [3, 6]]), reach, SEAL, unit=4, apart=True)
    >>> light, heavy = split_light_and_heavy(both)
    >>> light.sensitive_values.tolist(), light.sensitivity, heavy.sensitivity == both.sensitivity
    ([2, 0], Sensitivity(l1=3, l2_squared=3, linf=1), True)
    """
    if type(counts) is not Bounded or not counts.apart:
        raise TypeError(f"{counts} does not tell people within a limit from all others")
    whole, weighed = counts.sensitive_values
    unit, sensitivity_of_both, admission = counts.unit, counts.sensitivity, counts.admission
    records = Sensitivity(
        sensitivity_of_both.l1 // unit, sensitivity_of_both.l2_squared // unit**2, sensitivity_of_both.linf // unit
    )
    return (
        Bounded(whole // unit, records, SEAL, admission=admission),
        Bounded(weighed, sensitivity_of_both, SEAL, unit=unit, admission=admission),
    )
