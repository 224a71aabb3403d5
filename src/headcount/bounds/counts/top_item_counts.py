"""Counts of a few top items under several contribution bounds, with the class profile, in one pass.

Of some items alone it is measured how many people have how many records, and all of these records, weighed down as
:class:`~headcount.bounds.counts.weight_to_threshold.WeightToThreshold` does with ``among``, under each of several
limits. Which of the limits is then used may follow from what was released of the other parts: each part stands by
itself, with a sensitivity of its own, and noise has to be paid for each that is released.

Why one person moves no more than is said
    Each part is what :class:`~headcount.bounds.counts.class_profile.ClassProfile` measures, or of these items
    alone :class:`~headcount.bounds.counts.activity_histogram.ActivityHistogram` and
    :class:`~headcount.bounds.counts.weight_to_threshold.WeightToThreshold`, but that people beyond a cap weigh no
    more, and are in one place as anybody is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, Counting, check_limit
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.counts.class_profile import NO_SIZE_CAP, ClassProfile
from headcount.bounds.counts.count_bound import sensitivity
from headcount.bounds.counts.item_subset import ItemSubset
from headcount.bounds.counts.weight_to_threshold import WeightToThreshold


@dataclass(frozen=True)
class BoundedTopItemCounts:
    """Shares of classes, people by how much of some items they have, and counts of these under each limit."""

    shares: Bounded
    people: Bounded
    counts: tuple[Bounded, ...]

    def with_others(self, other: BoundedTopItemCounts) -> BoundedTopItemCounts:
        """Add what was measured of other people: see :meth:`Bounded.with_others`."""
        counts = (own.with_others(added) for own, added in zip(self.counts, other.counts, strict=True))
        return BoundedTopItemCounts(
            self.shares.with_others(other.shares), self.people.with_others(other.people), tuple(counts)
        )


@dataclass(frozen=True, eq=False)
class TopItemCounts(Bound[BoundedTopItemCounts]):
    """The ``shares`` of classes of items, and of the items ``among`` all a closer look.

    Each person who has records of these items is counted once, by how many, up to each of the ``ends`` or beyond
    the last; and all these records are weighed until they keep the limit, for each of the rising ``limits`` by
    itself. What is limited, and what people are counted by, is the norm of the shares. Of a person with more than
    the most that the shares allow each record weighs so much less to begin with, and the person is counted by what
    all of these weigh.
    """

    shares: ClassProfile
    among: ItemSubset
    limits: tuple[int, ...]
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.shares.table != "items":
            raise ValueError("a closer look is one at items")
        if self.shares.most != NO_SIZE_CAP:
            check_limit(self.shares.most, "most")
        for name, numbers in (("limits", self.limits), ("ends", self.ends)):
            for number in numbers:
                check_limit(number, name)
            if not numbers or any(lower >= upper for lower, upper in pairwise(numbers)):
                raise ValueError(f"{name} must rise, from 1 or more, and not be {numbers}")

    def under(self, limit: int) -> WeightToThreshold:
        """Return the bound that counts under a limit are measured as."""
        return WeightToThreshold(limit, self.shares.norm, among=self.among)

    def sensitivity(self, limit: int, counting: Counting) -> Sensitivity:
        """Return how far one person moves the counts under a limit: those of so few items."""
        columns = self.among.places.size
        return sensitivity(self.under(limit), counting, columns).of_some(columns)


def seal_top_item_counts(
    shares: Bounded, users_by_place: Integers, counts: Sequence[Integers], bound: TopItemCounts, counting: Counting
) -> BoundedTopItemCounts:
    """Turn an engine's sums into bounded values: people in each place, and counts in the order of ``among``."""
    if users_by_place.shape != (len(bound.ends) + 1,) or len(counts) != len(bound.limits):
        raise ValueError(
            f"there must be {len(bound.ends) + 1} places, and counts under {len(bound.limits)} limits"
        )
    weighted = []
    for limit, limit_counts in zip(bound.limits, counts, strict=True):
        if limit_counts.shape != bound.among.places.shape:
            raise ValueError(f"there must be counts of {bound.among.places.size} items, not {limit_counts.shape}")
        weighted.append(
            Bounded(limit_counts, bound.sensitivity(limit, counting), SEAL, unit=bound.under(limit).unit)
        )
    return BoundedTopItemCounts(
        shares, Bounded(users_by_place, Sensitivity(l1=1, l2_squared=1, linf=1), SEAL), tuple(weighted)
    )
