"""What is known of people, and heavy users whom noise may hide: what they may add to counts known without them.

Only released numbers are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity

_AT_THE_CAP = 2.2  # so many people with all that a cap allows may have the same item alone, and be hidden


@dataclass(frozen=True)
class KnownPeople:
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
    def most_of_an_item(self) -> float:
        """How much an item can count: no more than there may be people, where each counts once."""
        return self.at_most.total_users if self.distinct else math.inf

    @property
    def of_one_item(self) -> float:
        """How many records of one item people may have whom noise hides, where a cap gives that an end."""
        return 0.0 if self.cap is None or self.distinct else of_one_item(self.cap)


def of_one_item(cap: int, counted: int = 0) -> float:
    """Return how many records of one item a few people may have whom noise hides, beside so many that are counted.

    >>> [round(of_one_item(100, counted)) for counted in (0, 50, 100)]
    [220, 110, 0]
    """
    return _AT_THE_CAP * max(cap - counted, 0)


class HiddenPeople(NamedTuple):
    """How many there may be, with how many records, beside records that are seen.

    They have the items that others have, or all alike; and each of them counts once an item where users count.
    Whoever has one item alone weighs as little as anybody, and noise hides that by design: under a cap, a few such
    people are allowed for with each item. ``ratio`` is how much weighted counts may amount to in full where nobody
    is seen at all.
    """

    records: float
    users: float
    seen: float
    items: int
    distinct: bool
    ratio: float
    of_one_item: float

    @classmethod
    def among(
        cls,
        seen: EstimatedActivity,
        possible: EstimatedActivity,
        items: int,
        *,
        distinct: bool,
        ratio: float,
        of_one_item: float,
    ) -> HiddenPeople:
        """Say who may be hidden, from heavy users as they are seen and as many as are possible.

        >>> seen, possible = (EstimatedActivity(np.array([8.0]), np.array([users])) for users in (50.0, 60.0))
        >>> hidden = HiddenPeople.among(seen, possible, 100, distinct=True, ratio=0.0, of_one_item=0.0)
        >>> hidden.may_add(np.array([40.0, 0.0])).tolist()
        [8.8, 0.8]
        """
        return cls(
            max(possible.total_records - seen.total_records, 0.0),
            max(possible.total_users - seen.total_users, 0.0),
            max(seen.total_records, 1.0),
            items,
            distinct,
            ratio,
            of_one_item,
        )

    def may_add(self, counts: Floats) -> Floats:
        """Return how much they may add to each count."""
        added = self.records * (counts / self.seen + 1 / self.items)
        return np.minimum(added, self.users) if self.distinct else added + self.of_one_item
