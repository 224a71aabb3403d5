"""Undetected heavy users: how many the noise may conceal, and what they may add to counts.

Only released numbers are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity

_USERS_AT_CAP = 2.2  # so many people with all that a cap allows may have the same item alone, and be hidden


@dataclass(frozen=True)
class UserEstimates:
    """What is known of the users of a table: their estimated activity, and how much of it there may be.

    ``squares`` says that activity is in squares of records, so that it says little of how many records there are,
    and ``cap`` is a public one on how many records of a person count.
    """

    estimated: EstimatedActivity
    at_most: EstimatedActivity
    distinct: bool
    squares: bool = False
    cap: int | None = None

    @property
    def max_item_count(self) -> float:
        """How much an item can count: no more than there may be people, where each counts once."""
        return self.at_most.total_users if self.distinct else math.inf

    @property
    def per_item(self) -> float:
        """How many records of one item people may have whom noise hides, where a cap gives that an end."""
        return 0.0 if self.cap is None or self.distinct else undetected_per_item(self.cap)


def undetected_per_item(cap: int, counted: int = 0) -> float:
    """Return how many records of one item a few people may have whom noise hides, beside so many that are counted.

    >>> [round(undetected_per_item(100, counted)) for counted in (0, 50, 100)]
    [220, 110, 0]
    """
    return _USERS_AT_CAP * max(cap - counted, 0)


class UndetectedUsers(NamedTuple):
    """How many there may be, with how many records, beside records that are seen.

    They have the items that others have, or all alike; and each of them counts once an item where users count.
    Whoever has one item alone weighs as little as anybody, and noise hides that by design: under a cap, a few such
    people are allowed for with each item. ``ratio`` is how much weighted counts may amount to in full where nobody
    is seen at all.
    """

    records: float
    users: float
    detected_records: float
    items: int
    distinct: bool
    ratio: float
    per_item: float

    @classmethod
    def among(
        cls,
        detected: EstimatedActivity,
        possible: EstimatedActivity,
        items: int,
        *,
        distinct: bool,
        ratio: float,
        per_item: float,
    ) -> UndetectedUsers:
        """Say who may be hidden, from heavy users as they are seen and as many as are possible.

        >>> detected, possible = (EstimatedActivity(np.array([8.0]), np.array([users])) for users in (50.0, 60.0))
        >>> undetected = UndetectedUsers.among(detected, possible, 100, distinct=True, ratio=0.0, per_item=0.0)
        >>> undetected.may_add(np.array([40.0, 0.0])).tolist()
        [8.8, 0.8]
        """
        return cls(
            max(possible.total_records - detected.total_records, 0.0),
            max(possible.total_users - detected.total_users, 0.0),
            max(detected.total_records, 1.0),
            items,
            distinct,
            ratio,
            per_item,
        )

    def may_add(self, counts: Floats) -> Floats:
        """Return how much they may add to each count."""
        added = self.records * (counts / self.detected_records + 1 / self.items)
        return np.minimum(added, self.users) if self.distinct else added + self.per_item
