"""Counts of a few top items under several contribution bounds, with the class profile, in one pass.

Of some items alone it is measured how many users have how many records, and all of these records, weighed down as
:class:`~headcount.bounds.counts.weight_to_threshold.WeightToThreshold` does with ``among``, under each of several
limits. Which of the limits is then used may follow from what was released of the other parts: each part stands by
itself, with a sensitivity of its own, and noise has to be paid for each that is released.

Why one user moves no more than is said
    Each part is what :class:`~headcount.bounds.counts.class_profile.ClassProfile` measures, or of these items
    alone :class:`~headcount.bounds.counts.activity_histogram.ActivityHistogram` and
    :class:`~headcount.bounds.counts.weight_to_threshold.WeightToThreshold`, but that users beyond a cap weigh no
    more, and are in one place as anybody is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, Counting, check_limit
from headcount.bounds.bounded import SEAL, Bounded, BoundedGroup, Sensitivity
from headcount.bounds.counts.class_profile import NO_SIZE_CAP, ClassProfile, TopItems, sum_class_profiles
from headcount.bounds.counts.count_bound import ItemSubset
from headcount.bounds.counts.weight_to_threshold import WeightToThreshold
from headcount.bounds.engine_interface import Passes
from headcount.events.log import EventLog


@dataclass(frozen=True)
class BoundedTopItemCounts(BoundedGroup):
    """Shares of classes, users by how much of some items they have, and counts of these under each limit."""

    shares: Bounded
    people: Bounded
    counts: tuple[Bounded, ...]

    @property
    def parts(self) -> tuple[Bounded, ...]:
        """All tables."""
        return self.shares, self.people, *self.counts

    def with_parts(self, parts: tuple[Bounded, ...]) -> BoundedTopItemCounts:
        """Return the same tables with other values."""
        shares, people, *counts = parts
        return BoundedTopItemCounts(shares, people, tuple(counts))


@dataclass(frozen=True, eq=False)
class TopItemCounts(Bound[BoundedTopItemCounts]):
    """The ``shares`` of classes of items, and of the items ``among`` all a closer look.

    Each user who has records of these items is counted once, by how many, up to each of the ``ends`` or beyond
    the last; and all these records are weighed until they keep the limit, for each of the rising ``limits`` by
    itself. What is limited, and what users are counted by, is the norm of the shares. Of a user with more than
    the most that the shares allow each record weighs so much less to begin with, and the user is counted by what
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
        """Return how far one user moves the counts under a limit: those of so few items."""
        columns = self.among.places.size
        return self.under(limit).sensitivity(counting, columns).of_some(columns)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> BoundedTopItemCounts:
        """Spread the users over classes of items, and count them, and all records, of some items alone."""
        classes = self.shares.of_columns(log).copy()
        places = self.among.places
        self.among.of_items(classes.size)  # refuses places beyond
        limits, ends = np.array(self.limits, dtype=np.int64), np.array(self.ends, dtype=np.int64)
        top = TopItems(classes[places], limits, ends)
        classes[places] = self.shares.number + np.arange(places.size)
        sums = sum_class_profiles(passes, log, secret, self.shares, classes, top)
        weighted, whole = (by_limit.reshape(-1, places.size) for by_limit in (sums.weighed, sums.whole))
        counts = weighted + whole.cumsum(axis=0)
        return self.seal(log.counting, sums.sums.reshape(self.shares.shape), sums.people, list(counts))

    def seal(
        self, counting: Counting, shares: Integers, users_by_place: Integers, counts: Sequence[Integers]
    ) -> BoundedTopItemCounts:
        """Turn sums into bounded values: users in each place, and counts in the order of ``among``."""
        if users_by_place.shape != (len(self.ends) + 1,) or len(counts) != len(self.limits):
            raise ValueError(
                f"there must be {len(self.ends) + 1} places, and counts under {len(self.limits)} limits"
            )
        weighted = []
        for limit, limit_counts in zip(self.limits, counts, strict=True):
            if limit_counts.shape != self.among.places.shape:
                raise ValueError(
                    f"there must be counts of {self.among.places.size} items, not {limit_counts.shape}"
                )
            sensitivity = self.sensitivity(limit, counting)
            weighted.append(Bounded(limit_counts, sensitivity, SEAL, unit=self.under(limit).unit))
        users = Bounded(users_by_place, Sensitivity(l1=1, l2_squared=1, linf=1), SEAL)
        return BoundedTopItemCounts(self.shares.seal(shares), users, tuple(weighted))
