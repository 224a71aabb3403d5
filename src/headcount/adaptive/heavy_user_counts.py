"""Light and heavy users' tables: activity histogram, clipping threshold, noise, and counts from them.

Shared by the adaptive release and by long rankings.

A histogram of how active people are is released first. Everything else is planned with it: the limit, and how to
get from noisy tables of light and of heavy users to counts. See :mod:`headcount.methods.counts.adaptive` for why
that is private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteLaplace, NoiseDistribution
from headcount.adaptive import activity_histogram as activities
from headcount.adaptive.blocks import BLOCK, NoisyPair, blocks
from headcount.adaptive.class_scale_up import Ratios, ReleasedProfile
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.item_context_estimates import estimate_item_contexts
from headcount.adaptive.light_heavy import ShrinkageModel, choose_ratios, estimate_counts, fit_shrinkage
from headcount.adaptive.predicted_error import COUNT_TOLERANCE, ORDER_TOLERANCE, best_threshold, predicted_error
from headcount.adaptive.scale_up import scale_up
from headcount.adaptive.undetected_users import UserEstimates
from headcount.bounds import (
    FIXED_POINT,
    ActivityHistogram,
    Bounded,
    ClassProfile,
    Counting,
    CountTable,
    ItemSubset,
    Noisy,
    Norm,
    WeightToThreshold,
    columns_of,
)
from headcount.bounds.counts.activity_histogram import LAST_EDGE, UPPER_ENDS
from headcount.bounds.counts.class_profile import NO_SIZE_CAP
from headcount.bounds.counts.count_bound import split_light_and_heavy
from headcount.bounds.linear_maps import take_places
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, add_noise, noise_distribution_for, noise_norm
from headcount.releases.reconcile import Weights, reconcile

MAX_THRESHOLD = 1 << 20
MOST_RECORDS = LAST_EDGE + 1
ENDS = tuple(UPPER_ENDS.tolist())
LIGHT_AND_HEAVY = "the counts of light users, in whole numbers, and of heavy ones, before shrinkage"


@dataclass(frozen=True)
class NoisyGroupTables(Noisy):
    """Noisy tables of light and of heavy users, one after the other, in steps of the law of the second.

    Light users' noise has a law of its own, of the same scale: it is in whole numbers, as their counts are.
    """

    light: NoiseDistribution


def add_group_noise(
    measured: Bounded, grant: Grant, noise: NoiseSource, places: Sequence[int] | None = None
) -> NoisyGroupTables:
    """Spend a grant on noise for the tables of light and of heavy users: all of it on each, as nobody is in both.

    With ``places``, on these cells of either table alone.
    """
    own, others = split_light_and_heavy(measured)
    grants, shape = grant.for_disjoint_users(("light", "heavy")), own.shape
    if places is not None:
        own, others, shape = take_places(own, places), take_places(others, places), (len(places),)
    values = np.empty((2, *shape), dtype=np.int64)
    heavy = add_noise(others, grants["heavy"], noise)
    values[1], distribution = heavy.values.reshape(shape), heavy.distribution
    del heavy  # tables may be long
    light = add_noise(own, grants["light"], noise)
    np.multiply(light.values.reshape(shape), measured.unit, out=values[0])
    return NoisyGroupTables(values, distribution, light.distribution)


def release_histogram(
    log: EventLog,
    table: CountTable,
    grant: Grant,
    noise: NoiseSource,
    engine: Engine,
    norm: Norm = "l1",
    max_records: int = MOST_RECORDS,
    among: ItemSubset | None = None,
) -> Noisy:
    """Release how many users have 1, 2, 3-4, 5-8, … records in a table: each of them is in one bin.

    Users with more than ``max_records`` are in the bin of so many. With ``among``, records about some items alone.
    """
    bound = ActivityHistogram(table, min(max_records, MOST_RECORDS), norm, among, ENDS)
    return add_noise(engine.measure(log, bound, noise.key()), grant, noise)


def estimate_users(
    log: EventLog, table: CountTable, released: Noisy, norm: Norm = "l1", max_records: int | None = None
) -> UserEstimates:
    """Estimate the users of a table from a released histogram; at most ``max_records`` records of each count."""
    distinct = log.counting == "users"
    caps = [cap for cap in (max_records, columns_of(log, table) if distinct else None) if cap is not None]
    histogram_inputs = released.counts, scale_of(released.distribution), min(caps, default=None)
    squares = norm == "l2" and not distinct
    return UserEstimates(*activities.estimate_with_upper(*histogram_inputs), distinct, squares, cap=max_records)


def scale_of(law: NoiseDistribution) -> float:
    """Return the scale of the Laplace noise that is as wide."""
    return float(law.scale) if isinstance(law, DiscreteLaplace) else (law.variance / 2) ** 0.5


def threshold_noise(limit: int, cost: Cost, counting: Counting) -> NoiseDistribution:
    """Return the noise of a table under a limit; refuse what cannot be drawn."""
    moved = WeightToThreshold(limit, noise_norm(cost)).sensitivity(
        counting, columns=1
    )  # in its norm, columns do not matter
    return noise_distribution_for(moved, cost, unit=FIXED_POINT, on=LIGHT_AND_HEAVY)


def drawable(limit: int, cost: Cost, counting: Counting) -> bool:
    """Say whether the noise of a table under a limit can be drawn: a public question."""
    try:
        threshold_noise(limit, cost, counting)
    except UsageError:
        return False
    return True


def choose_threshold(
    log: EventLog,
    users: Mapping[CountTable, UserEstimates],
    costs: Mapping[CountTable, Cost],
    max_records: int = MOST_RECORDS,
    profile_cost: Cost | None = None,
) -> int:
    """Return the clipping threshold below ``max_records`` with the smallest predicted error, from public values.

    ``profile_cost`` pays for the class profile of heavy users; without it, only the order of the counts matters.
    """
    largest = min(max_records - 1, MAX_THRESHOLD)
    limits = sorted({largest, *(1 << k for k in range(largest.bit_length()))})
    limits = [k for k in limits if k == 1 or all(drawable(k, cost, log.counting) for cost in costs.values())]
    errors = []
    for table, table_users in users.items():
        norm, unit_deviation = (
            noise_norm(costs[table]),
            threshold_noise(1, costs[table], log.counting).variance ** 0.5,
        )
        deviations = [unit_deviation * (limit if norm == "l1" else math.sqrt(limit)) for limit in limits]
        errors.append(
            [
                predicted_error(
                    table_users.estimated,
                    limit,
                    deviation,
                    columns_of(log, table),
                    norm,
                    distinct=True,
                    measured=None if profile_cost is None else 1 / float(profile_cost.exact),
                )
                for limit, deviation in zip(limits, deviations, strict=True)
            ]
        )
    return best_threshold(limits, errors, ORDER_TOLERANCE if profile_cost is None else COUNT_TOLERANCE)


def reconcile_groups(
    items: NoisyGroupTables, item_contexts: NoisyGroupTables
) -> tuple[NoisyGroupTables, NoisyGroupTables]:
    """Make the noisy tables of both groups agree by weighted least squares: edges then sum to items.

    Both keep their laws, though each value now has a little less noise than that.
    """
    weights = Weights.by_precision(
        items_variance=items.distribution.variance,
        edges_variance=item_contexts.distribution.variance,
        contexts=item_contexts.values.shape[-1],
    )
    steps = float(items.distribution.step), float(item_contexts.distribution.step)
    whole = np.empty_like(items.values), np.empty_like(item_contexts.values)
    for group in range(len(items.values)):
        for rows in blocks(items.values.shape[1], max(BLOCK // item_contexts.values.shape[-1], 1)):
            noisy = [
                table.values[group, rows] * step for table, step in zip((items, item_contexts), steps, strict=True)
            ]
            agreed = reconcile(np.asarray(noisy[0]), np.asarray(noisy[1]), weights)
            for into, agreed_values, step in zip(whole, agreed, steps, strict=True):
                into[group, rows] = np.rint(agreed_values / step)
    return replace(items, values=whole[0]), replace(item_contexts, values=whole[1])


@dataclass(frozen=True)
class _ScaledMeasurements:
    """Edges as both groups together measure them: those of light users, and those of heavy ones scaled up."""

    noisy: Noisy
    ratios: Floats  # one an item

    @property
    def shape(self) -> tuple[int, ...]:
        """How many items and contexts there are."""
        return self.noisy.values.shape[1:]

    def __getitem__(self, rows: slice, /) -> Floats:
        """Return some rows."""
        light, heavy = self.noisy.values[:, rows] * float(self.noisy.distribution.step)
        return np.asarray(light + self.ratios[rows, None] * heavy)


def item_contexts_from(
    noisy: Noisy,
    items: Posterior,
    users: UserEstimates,
    bound: WeightToThreshold,
    average_to_item: Floats | None = None,
    variances: Floats | None = None,
) -> Posterior:
    """Turn the noisy edges of both groups into edges of the counts per item, from released numbers alone.

    ``average_to_item`` is the average scale-up factor over that of each item; ``variances`` are the relative
    variances of the item counts.
    """
    full = scale_up(users.estimated.above(bound.limit), bound.limit, bound.norm, distinct=False)
    average = full.counted[-1] / full.weighed[-1]
    ratios = np.full(items.mean.size, average) if average_to_item is None else average / average_to_item
    variance = noisy.distribution.variance * (1 + ratios**2)
    return estimate_item_contexts(
        items, _ScaledMeasurements(noisy, ratios), variance, sums=not users.distinct, relative_variances=variances
    )


def counts_from(
    noisy: NoisyGroupTables, users: UserEstimates, bound: WeightToThreshold, level: float
) -> Posterior:
    """Turn the noisy tables of both groups into one table of counts, from released numbers alone."""
    model = shrink_groups(noisy, users, bound, level)
    return _shaped(estimate_counts(model, choose_ratios(model)), noisy)


def class_profile_bound(
    table: CountTable, model: ShrinkageModel, grant: Grant, most: int | None = None
) -> ClassProfile:
    """Return what to ask of heavy users: what kinds of items they have, of classes that stand out of the noise."""
    classes = model.classes(1 / float(grant.exact))
    return ClassProfile(table, classes, model.limit, model.norm, NO_SIZE_CAP if most is None else most)


def counts_with_profile(
    profile_bound: ClassProfile,
    measured: Bounded,
    noisy: NoisyGroupTables,
    model: ShrinkageModel,
    grant: Grant,
    noise: NoiseSource,
) -> tuple[Posterior, Ratios]:
    """Release what kinds of items heavy users have, and turn the noisy tables into counts with that.

    The grant is spent whether or not there is anything to measure, so that nothing else hangs on it. Beside the
    counts it is returned how much heavy users' counts were scaled up.
    """
    scale, released = 1 / float(grant.exact), add_noise(measured, grant, noise)
    ratios = choose_ratios(model, ReleasedProfile(released.counts, scale, profile_bound.classes))
    return _shaped(estimate_counts(model, ratios), noisy), ratios


def average_to_item_ratio(model: ShrinkageModel, ratios: Ratios) -> Floats:
    """Return how much less the heavy users' counts of each item are scaled up than all together are."""
    weighed, everything = model.heavy(), slice(None)
    ratio, _ = ratios.at(weighed, everything)
    average = float((weighed * ratio).sum() / max(weighed.sum(), 1e-9))
    return np.divide(average, ratio, out=np.ones_like(ratio), where=ratio > 0)


def shrink_groups(
    noisy: NoisyGroupTables, users: UserEstimates, bound: WeightToThreshold, level: float
) -> ShrinkageModel:
    """Find out how to shrink the noisy tables of both groups."""
    light, heavy = noisy.values.reshape(2, -1)
    pair = NoisyPair(light, heavy, float(noisy.distribution.step))
    return fit_shrinkage(pair, noisy.distribution, users, bound.limit, bound.norm, level=level, light=noisy.light)


def _shaped(counts: Posterior, noisy: Noisy) -> Posterior:
    shape = noisy.values.shape[1:]
    return Posterior(counts.mean.reshape(shape), counts.low.reshape(shape), counts.high.reshape(shape))
