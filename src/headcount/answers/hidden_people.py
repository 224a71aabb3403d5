"""Heavy users whom noise may hide: what they may add to counts that are known without them.

Only released numbers are used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount.answers.activity import EstimatedActivity
from headcount.arrays import Floats


class HiddenPeople(NamedTuple):
    """How many there may be, with how many records, beside records that are seen.

    They have the items that others have, or all alike; and each of them counts once an item where users count.
    Whoever has one item alone weighs as little as anybody, and noise hides that by design: one such person is
    allowed for with each item, under a cap. ``ratio`` is how much weighted counts may amount to in full where
    nobody is seen at all.
    """

    records: float
    users: float
    seen: float
    items: int
    distinct: bool
    ratio: float
    one_more: float

    @classmethod
    def among(
        cls,
        seen: EstimatedActivity,
        possible: EstimatedActivity,
        items: int,
        *,
        distinct: bool,
        ratio: float,
        one_more: float,
    ) -> HiddenPeople:
        """Say who may be hidden, from heavy users as they are seen and as many as are possible.

        >>> seen, possible = (EstimatedActivity(np.array([8.0]), np.array([users])) for users in (50.0, 60.0))
        >>> hidden = HiddenPeople.among(seen, possible, 100, distinct=True, ratio=0.0, one_more=0.0)
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
            one_more,
        )

    def may_add(self, counts: Floats) -> Floats:
        """Return how much they may add to each count."""
        added = self.records * (counts / self.seen + 1 / self.items)
        return np.minimum(added, self.users) if self.distinct else added + self.one_more
