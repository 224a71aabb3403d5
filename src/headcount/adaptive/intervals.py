"""Counts with intervals: from two shrunken tables and scale-up factors to counts of all records.

A count is a little less than its posterior mean where that is uncertain: between the mean, which makes squared
errors small, and the median, which makes absolute errors small.

An interval combines the posteriors of both tables, the error of the scale-up factors, the noise of the released
activity, and the heavy users that the noise may conceal (undetected users).

Only released numbers are used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.light_heavy_estimates import ShrinkageModel
from headcount.adaptive.posterior import Posterior, blocks, relative_variance
from headcount.adaptive.priors import NORMAL_95, PRIORS
from headcount.adaptive.scale_up import Ratios, mean_ratio


def undetected_per_item(cap: int, measured: int = 0, users_at_cap: float = PRIORS.counts.users_at_cap) -> float:
    """Return the records of one item that a few undetected users at a public cap may have.

    So many of each user's records are ``measured``.

    >>> [round(undetected_per_item(100, measured)) for measured in (0, 50, 100)]
    [220, 110, 0]
    """
    return users_at_cap * max(cap - measured, 0)


class UndetectedUsers(NamedTuple):
    """How many users may be undetected, with how many records, beside detected records.

    They have the items that others have, or all alike; where users are counted, each counts once per item. A user
    with one item alone weighs as little as any other, and noise conceals that by design: under a cap, a few such
    users are allowed for with each item. ``ratio`` is the factor of weighted counts where no users are detected.
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
        """Return the undetected users, given the heavy users that are detected and possible.

        >>> detected, possible = (EstimatedActivity(np.array([8.0]), np.array([users])) for users in (50.0, 60.0))
        >>> undetected = UndetectedUsers.among(detected, possible, 100, distinct=True, ratio=0.0, per_item=0.0)
        >>> undetected.may_add(np.array([40.0, 0.0])).tolist()
        [8.8, 0.8]
        """
        return cls(
            records=max(possible.total_records - detected.total_records, 0.0),
            users=max(possible.total_users - detected.total_users, 0.0),
            detected_records=max(detected.total_records, 1.0),
            items=items,
            distinct=distinct,
            ratio=ratio,
            per_item=per_item,
        )

    def may_add(self, counts: Floats) -> Floats:
        """Return how much they may add to each count."""
        added = self.records * (counts / self.detected_records + 1 / self.items)
        return np.minimum(added, self.users) if self.distinct else added + self.per_item


def estimate_counts(model: ShrinkageModel, ratios: Ratios) -> Posterior:
    """Scale the heavy table up, and return the counts of all records, with intervals.

    >>> from headcount.accounting.noise_distributions import noise_distribution_from_json
    >>> from headcount.adaptive.activity_histogram import UserEstimates
    >>> from headcount.adaptive.light_heavy_estimates import choose_ratios, fit_shrinkage
    >>> from headcount.adaptive.posterior import NoisyPair
    >>> law = noise_distribution_from_json({"law": "discrete-laplace", "scale": "1", "step": "1/100"})
    >>> activity = EstimatedActivity(np.array([1.0, 16.0]), np.array([50.0, 100.0]))
    >>> users = UserEstimates(activity, activity, distinct=False)
    >>> model = fit_shrinkage(NoisyPair(np.array([50.0, 0.0]), np.array([200.0, 200.0])), law, users, 4)
    >>> estimate_counts(model, choose_ratios(model)).mean.round(2).tolist()
    [849.96, 800.02]
    """
    counts = Posterior.empty(model.noisy.size)
    undetected = _undetected_users(model)
    for where in blocks(model.noisy.size):
        part = _estimate_block(model, ratios, where, undetected)
        counts[where] = part.no_more_than(model.users.max_item_count)
    return counts


def _undetected_users(model: ShrinkageModel) -> UndetectedUsers:
    users = model.users
    possible, per_item, ratio = users.upper.above(model.threshold), 0.0, 0.0
    if users.cap is not None and not users.distinct:
        per_item = undetected_per_item(users.cap, users_at_cap=model.priors.counts.users_at_cap)
    if not (model.has_heavy or model.has_users):
        ratio = mean_ratio(possible, model.threshold, model.norm)
    return UndetectedUsers.among(
        model.above, possible, model.noisy.size, distinct=users.distinct, ratio=ratio, per_item=per_item
    )


def _estimate_block(model: ShrinkageModel, ratios: Ratios, where: slice, undetected: UndetectedUsers) -> Posterior:
    """Return the counts of some items, with intervals."""
    tuned = model.priors.counts
    own, others = model.part(where)
    ratio, deviation = ratios.at(others.mean, where)
    full = Posterior(others.mean * ratio, others.low * ratio, others.high * ratio)
    ratio_width = NORMAL_95 * deviation
    mean = own.mean + full.mean
    width = np.sqrt((own.high - own.mean) ** 2 + (full.high - full.mean) ** 2 + (ratio_width * full.mean) ** 2)
    low = own.low + full.low * np.exp(-tuned.selection_bias * ratio_width)
    high = np.maximum(mean + width, _upper_counts(model, where, np.maximum(ratio, undetected.ratio), ratio_width))
    high += undetected.may_add(full.mean)
    shift = tuned.median_shift * _noisiness(mean, np.hypot(own.high - own.low, full.high - full.low))
    shifted = (own.mean + full.mean * model.heavy_weight) * (1 - shift)
    return Posterior(np.clip(shifted, low, high), low, high)


def _upper_counts(model: ShrinkageModel, where: slice, ratios: Floats, ratio_width: Floats) -> Floats:
    """Return how large counts may be that noise alone made as small as they were measured.

    Shrinkage is right on average over all items; of those that are largest in truth it makes too little. Whatever
    its count, an item's own measurement is no further from it than noise reaches.
    """
    light, heavy = model.noisy.part(where)
    measured = light + ratios * heavy
    own, others = (noise.half_width(model.level) for noise in (model.light, model.distribution))
    within = np.hypot(own, others * ratios)
    return np.asarray(measured + np.hypot(within, np.expm1(ratio_width) * np.maximum(ratios * heavy, 0.0)))


def _noisiness(mean: Floats, width: Floats) -> Floats:
    """Return how uncertain noise makes counts whose posteriors are so wide: from 0, not at all, to 1.

    >>> _noisiness(np.array([100.0, 1.0]), np.array([4.0, 400.0])).round(2).tolist()
    [0.0, 1.0]
    """
    variance = relative_variance(mean, width)
    return np.asarray(variance / (1 + variance))


def relative_variances(model: ShrinkageModel, ratios: Ratios) -> Floats:
    """Return the relative variance of each count by noise alone, without the error of scale-up factors."""
    variances = np.empty(model.noisy.size)
    for where in blocks(model.noisy.size):
        own, others = model.part(where)
        ratio, _ = ratios.at(others.mean, where)
        width = np.hypot(own.high - own.low, ratio * (others.high - others.low))
        variances[where] = relative_variance(own.mean + ratio * others.mean, width)
    return variances


def average_to_item_ratio(model: ShrinkageModel, ratios: Ratios) -> Floats:
    """Return the average scale-up factor over that of each item."""
    weighed, everything = model.heavy(), slice(None)
    ratio, _ = ratios.at(weighed, everything)
    average = float((weighed * ratio).sum() / max(weighed.sum(), 1e-9))
    return np.divide(average, ratio, out=np.ones_like(ratio), where=ratio > 0)
