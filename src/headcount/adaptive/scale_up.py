"""Scale-up model: from down-weighted counts of heavy users to full counts, from their activity alone.

The factors measured by popularity class are in class_scale_up.

A heavy user, with n records above the limit θ, counts each with a weight below 1: θ/n, or √(θ/n) where noise is
Gaussian. How much an item's heavy count has to be scaled up depends on who its heavy users are. The released
activity says how many of them there are with how many records; which items they have is modelled: all draw from
the same popularity.

Where records are counted, that makes one ratio for all items: Σ n / Σ w(n) n. Where users are counted, a person
has an item once however much they draw, with probability 1 - exp(-n q) for an item of popularity q: rare items
come with heavy users, in proportion to n, while everybody has the items that are popular enough. So the ratio
falls with popularity, from Σ n / Σ w(n) n down to Σ 1 / Σ w(n). Scaling all items alike overstates the most
popular ones, several-fold where activity is uneven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity

Norm = Literal["l1", "l2"]

POPULARITIES = np.concatenate([[0.0], np.geomspace(1e-10, 50, 800)])


@dataclass(frozen=True)
class ScaleUp:
    """What heavy users' weighted counts amount to in full: linear between the points given.

    >>> ScaleUp(np.array([0.0, 2.0]), np.array([0.0, 10.0])).apply(np.array([1.0, 4.0])).tolist()
    [5.0, 20.0]
    """

    weighed: Floats
    counted: Floats

    def apply(self, weighed: Floats) -> Floats:
        """Return the full counts; beyond the last point everybody has the item, and its ratio stays."""
        inside = np.interp(weighed, self.weighed, self.counted)
        last = self.counted[-1] / self.weighed[-1]
        return np.asarray(np.where(weighed > self.weighed[-1], weighed * last, inside))


def weights(records: Floats, limit: int, norm: Norm) -> Floats:
    """Return what one record weighs, by how many records its user has.

    >>> weights(np.array([2.0, 16.0]), 4, "l1").tolist(), weights(np.array([2.0, 16.0]), 4, "l2").tolist()
    ([1.0, 0.25], [1.0, 0.5])
    """
    share = np.minimum(1.0, limit / records)
    return share if norm == "l1" else np.sqrt(share)


def mean_ratio(heavy: EstimatedActivity, limit: int, norm: Norm) -> float:
    """Return what heavy users' weighted records amount to in full, on average; 0 if there are no such users.

    >>> mean_ratio(EstimatedActivity(np.array([16.0]), np.array([10.0])), 4, "l2")
    2.0
    """
    weighed = float((heavy.users * heavy.records * weights(heavy.records, limit, norm)).sum())
    return heavy.total_records / weighed if weighed > 0 else 0.0


def scale_up(heavy: EstimatedActivity, limit: int, norm: Norm, *, distinct: bool) -> ScaleUp:
    """Return how to scale up, for heavy users of that activity.

    >>> heavy = EstimatedActivity(np.array([8.0, 80.0]), np.array([10.0, 10.0]))
    >>> curve = scale_up(heavy, 4, "l1", distinct=True)
    >>> curve.apply(np.array([1e-6, 5.5])).round(6).tolist()
    [1.1e-05, 20.0]
    """
    if heavy.total_users == 0:
        return ScaleUp(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    record_weights = weights(heavy.records, limit, norm)
    if not distinct:
        ends = (heavy.users * heavy.records * record_weights).sum(), heavy.total_records
        return ScaleUp(np.array([0.0, ends[0]]), np.array([0.0, ends[1]]))
    shares = inclusion_chances(heavy, POPULARITIES)
    return ScaleUp(shares @ (heavy.users * record_weights), shares @ heavy.users)


def inclusion_chances(activity: EstimatedActivity, popularities: Floats) -> Floats:
    """Return the probability that a user of each number of records has an item of each popularity."""
    return np.asarray(-np.expm1(-np.outer(popularities, activity.records)))
