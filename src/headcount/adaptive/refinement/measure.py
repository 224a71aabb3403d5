"""Refinement, measurement: count the items with the largest noisy counts a second time, privately.

The estimates that follow from it are in refinement.estimate.

How far heavy users' counts have to be scaled up differs between items, and no ε makes that smaller: it is what
counts of popular items are uncertain for, while noise hardly matters to them. Among a few items a person has few
records. So these few are counted once more by themselves, under a limit that cuts off next to nothing of that; and
which limit, and what it cuts off, follows from a histogram of how many records of these few people have. Counts
under all limits are measured at once, on the way on which the shares of classes are, and those under one released.

Why it is private
    Which items is known from what was released before. Whether a record is about one of them is a function of that
    record, so of each person there is a part of what they did: it is in one bin of the histogram, and weighs no
    more than the limit. The limit follows from released numbers, and what was measured under the others is seen by
    nobody. Both are paid for, and add up with what was paid before, by adaptive composition.

Reference
    docs/methods/adaptive.md. What follows from both is :mod:`headcount.adaptive.refinement.estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.class_scale_up import Ratios
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.heavy_user_counts import ENDS, drawable, scale_of, threshold_noise
from headcount.adaptive.light_heavy import ShrinkageModel, prior_estimates
from headcount.adaptive.refinement.estimate import SubsetModel
from headcount.adaptive.refinement.subset_activity import estimate_subset_activity
from headcount.bounds import FIXED_POINT, ClassProfile, Counting, ItemSubset, Sensitivity, WeightToThreshold
from headcount.bounds.counts.top_item_counts import BoundedTopItemCounts, TopItemCounts
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, add_noise, noise_norm
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.formatting import some

REFINED_ITEMS = 24
"""A few more than the 20 that are mostly shown, for some change places."""

REFINED_COUNTS = "the counts of the first items, by themselves"

_HISTOGRAM_SHARE = Decimal("0.25")
_LARGEST_LIMIT = 1 << 12
_ROUNDS = 2  # in which what a look found says who has these items, and that what was found
_SMALLEST = 1e-9


@dataclass(frozen=True)
class Refinement:
    """What is known of some items before and after a closer look, and what was released for that."""

    places: Integers
    before: Posterior
    counts: Posterior
    limit: int
    histogram_noise: NoiseDistribution
    counts_noise: NoiseDistribution

    def merge_into(self, counts: Posterior) -> Posterior:
        """Return all counts, with these in place of what was known of them."""
        combined = Posterior(counts.mean.copy(), counts.low.copy(), counts.high.copy())
        combined.mean[self.places], combined.low[self.places] = self.counts.mean, self.counts.low
        combined.high[self.places] = self.counts.high
        return combined

    def for_contexts(self, counts: Posterior, relative_variances: Floats) -> tuple[Posterior, Floats]:
        """Return all counts of people as contexts are worked out from, and how uncertain noise leaves each.

        Of contexts a look tells half, by ratios: who has an item in one is not who has it at all, and is scaled up
        otherwise.
        """
        mean, low, high = self.counts.mean, counts.low.copy(), counts.high.copy()
        down, up = (
            np.maximum(half_width, 0.0) for half_width in (mean - self.before.low, self.before.high - mean)
        )
        low[self.places] = np.minimum(mean - np.sqrt(down * (mean - self.counts.low)), self.counts.low)
        high[self.places] = np.maximum(mean + np.sqrt(up * (self.counts.high - mean)), self.counts.high)
        noise = relative_variances.copy()
        noise[self.places] = np.minimum(relative_variances[self.places], self.counts.relative_variance)
        return Posterior(counts.mean, low, high), noise

    def describe(self, unit: str, weigh: str, paid: str) -> str:
        """Say what was done, in the words of the method that did it."""
        return (
            f"The {some(self.places.size, 'item')} with the largest counts were then counted once more, by "
            f"themselves: it was released how many {unit} of these people have, with "
            f"{self.histogram_noise.in_words()}; from that a limit of {self.limit:,} was chosen; and what people "
            f"with more have was counted in part, so that together {weigh} {self.limit:,}, with "
            f"{self.counts_noise.in_words()}. All that was paid with {paid}, and put together with what was known "
            "before, by precision."
        )


def refinement_stages(counting: Counting, *, gaussian: bool) -> Stages:
    """Return what a closer look spends its grant on.

    A limit will be chosen whose noise can be drawn, if that of 1 can.
    """
    histogram = Stage("people", _HISTOGRAM_SHARE, gaussian=gaussian, sensitivity=Sensitivity.of_l1(1))
    moves = WeightToThreshold(1, "l2" if gaussian else "l1").sensitivity(counting, columns=1)
    counts = Stage(
        "counts", 1 - _HISTOGRAM_SHARE, gaussian=gaussian, sensitivity=moves, unit=FIXED_POINT, on=REFINED_COUNTS
    )
    return normalize_split([histogram, counts])


@dataclass(frozen=True)
class RefinementPlan:
    """What is asked of the first items, what pays for it, and how far each limit's noise deviates."""

    bound: TopItemCounts
    grants: Mapping[str, Grant]
    deviations: Sequence[float]


def plan_refinement(log: EventLog, model: ShrinkageModel, shares: ClassProfile, grant: Grant) -> RefinementPlan:
    """Ask for the items whose counts are largest as far as is known, beside the shares of classes."""
    grants = split_among_stages(refinement_stages(log.counting, gaussian=grant.cost.delta > 0), grant)
    places = model.largest(REFINED_ITEMS)
    most = min(places.size if log.counting == "users" else _LARGEST_LIMIT, shares.most)
    limits = _drawable_thresholds(log, grants["counts"], most)
    bound = TopItemCounts(shares, ItemSubset(places), tuple(limit for limit, _ in limits), ENDS)
    return RefinementPlan(bound, grants, [deviation for _, deviation in limits])


def refine_first_items(
    log: EventLog,
    plan: RefinementPlan,
    measured: BoundedTopItemCounts,
    counts: Posterior,
    model: ShrinkageModel,
    ratios: Ratios,
    noise: NoiseSource,
) -> Refinement:
    """Spend what pays for the question on how many records of the first items people have, and on their counts."""
    bound, distinct = plan.bound, log.counting == "users"
    places, norm = bound.among.places, bound.shares.norm
    released = add_noise(measured.people, plan.grants["people"], noise)
    prior = prior_estimates(model, ratios, counts, places)
    part_of_all = None if distinct else float(prior.counts.mean.sum() / max(counts.mean.sum(), _SMALLEST))

    def model_subset(item_means: Floats) -> SubsetModel:
        """Say who has these items, if they have such counts."""
        histogram_inputs = (
            released.counts,
            scale_of(released.distribution),
            model.people.estimated,
            model.people.at_most,
        )
        subset_activity = estimate_subset_activity(
            *histogram_inputs, replace(prior.counts, mean=item_means), part_of_all
        )
        return SubsetModel(
            prior, item_means, subset_activity, distinct, norm, model.people.squares, model.people.cap
        )

    subset = model_subset(prior.counts.mean)
    limit = subset.best_limit(list(zip(bound.limits, plan.deviations, strict=True)))
    noisy = add_noise(measured.counts[bound.limits.index(limit)], plan.grants["counts"], noise)
    best = subset.combine(noisy.counts, limit, noisy.distribution.variance**0.5)
    for _ in range(_ROUNDS):
        best = model_subset(best.mean).combine(noisy.counts, limit, noisy.distribution.variance**0.5)
    best = best.no_more_than(model.people.max_item_count)
    return Refinement(places, prior.counts, best, limit, released.distribution, noisy.distribution)


def _drawable_thresholds(log: EventLog, grant: Grant, most: int) -> list[tuple[int, float]]:
    """Return limits whose noise can be drawn, and its deviation: that of 1 can be, by what was checked before."""
    norm, unit_deviation = noise_norm(grant.cost), threshold_noise(1, grant.cost, log.counting).variance ** 0.5
    limits = sorted({most, *(1 << k for k in range(most.bit_length()))})
    return [
        (limit, unit_deviation * (limit if norm == "l1" else math.sqrt(limit)))
        for limit in limits
        if limit == 1 or drawable(limit, grant.cost, log.counting)
    ]
