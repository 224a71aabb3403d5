"""Measurements of the adaptive estimator: the only phase that spends.

A histogram of how active users are is released first, and fixes the threshold. Then the counts of light users, in
full, and of heavy ones, down-weighted, get noise. Popularity classes follow from these, and the class profile of
heavy users is released. Last, the items with the largest noisy counts are counted a second time (refinement):
scale-up factors differ between items, and no ε makes that smaller, but among a few items users have few records.
So these few are counted under a threshold that cuts off next to nothing. It follows from a histogram of users by
number of records of these items. Counts under all thresholds are measured in the same pass as the class profile,
and those under one are released.

Why it is private
    :mod:`headcount.methods.counts.adaptive` proves the stages before the refinement. The refined items follow from
    earlier released values. Whether a record is about one of them is a function of that record. So of each user
    there is a part of their records: it is in one bin of the histogram, and weighs no more than the threshold. The
    threshold follows from released numbers, and counts under the others are not released. Both get noise for their
    part of the budget, and all stages add up by adaptive composition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from headcount.accounting.budget import Grant
from headcount.adaptive.estimator import Inference, NoisyGroupTables, RefinementMeasurements
from headcount.adaptive.popularity_scale_up import ReleasedProfile
from headcount.adaptive.posterior import BLOCK, blocks
from headcount.adaptive.threshold_choice import MOST_RECORDS, drawable_thresholds, threshold_deviations
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
    Sensitivity,
    WeightToThreshold,
)
from headcount.bounds.counts.activity_histogram import UPPER_ENDS
from headcount.bounds.counts.class_profile import NO_SIZE_CAP
from headcount.bounds.counts.count_bound import split_light_and_heavy
from headcount.bounds.counts.top_item_counts import BoundedTopItemCounts, TopItemCounts
from headcount.bounds.linear_maps import take_places
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.reconcile import Weights, reconcile

ENDS = tuple(UPPER_ENDS.tolist())

REFINED_ITEMS = 24
"""A few more than the 20 that are mostly shown, for some change places."""

REFINED_COUNTS = "the counts of the first items, by themselves"

_HISTOGRAM_SHARE = Decimal("0.25")
_MAX_REFINED_THRESHOLD = 1 << 12


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


def add_group_noise(
    measured: Bounded, grant: Grant, noise: NoiseSource, places: Sequence[int] | None = None
) -> NoisyGroupTables:
    """Spend a grant on noise for the tables of light and of heavy users: all of it on each, as no user is in both.

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


def measure_groups(
    log: EventLog,
    bound: WeightToThreshold,
    grants: Mapping[CountTable, Grant],
    noise: NoiseSource,
    engine: Engine,
) -> dict[CountTable, NoisyGroupTables]:
    """Release the tables of light and of heavy users; where records are counted, reconcile items with contexts."""
    counted = engine.measure(log, bound, noise.key())
    noisy = {table: add_group_noise(getattr(counted, table), grant, noise) for table, grant in grants.items()}
    if len(noisy) == 2 and log.counting == "records":
        noisy["items"], noisy["edges"] = reconcile_groups(noisy["items"], noisy["edges"])
    return noisy


def reconcile_groups(
    items: NoisyGroupTables, item_contexts: NoisyGroupTables
) -> tuple[NoisyGroupTables, NoisyGroupTables]:
    """Make the noisy tables of both groups agree by weighted least squares: contexts then sum to items.

    Both keep their noise distributions, though each value now has a little less noise than that.
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


def measure_profile(
    log: EventLog,
    inference: Inference,
    grant: Grant,
    refinement_grant: Grant | None,
    noise: NoiseSource,
    engine: Engine,
) -> Inference:
    """Release the class profile of heavy users, and with a grant for that a refinement; return what they add.

    The profile's grant is spent whether or not any heavy users are detected, so that nothing else depends on it.
    """
    model, scale = inference.model, 1 / float(grant.exact)
    cap = model.users.cap
    profile_bound = ClassProfile(
        inference.table, model.classes(scale), model.threshold, model.norm, NO_SIZE_CAP if cap is None else cap
    )
    if refinement_grant is None:
        profile = add_noise(engine.measure(log, profile_bound, noise.key()), grant, noise)
        return inference.with_profile(ReleasedProfile(profile.counts, scale, profile_bound.classes))
    refined_grants = split_among_stages(
        refinement_stages(log.counting, gaussian=refinement_grant.cost.delta > 0), refinement_grant
    )
    places = model.largest(REFINED_ITEMS)
    largest = min(places.size if log.counting == "users" else _MAX_REFINED_THRESHOLD, profile_bound.most)
    thresholds = drawable_thresholds(largest, log.counting, (refined_grants["counts"].cost,))
    bound = TopItemCounts(profile_bound, ItemSubset(places), tuple(thresholds), ENDS)
    measured = engine.measure(log, bound, noise.key())
    profile = add_noise(measured.shares, grant, noise)
    inference = inference.with_profile(ReleasedProfile(profile.counts, scale, profile_bound.classes))
    return _refine(log, inference, bound, measured, refined_grants, noise)


def _refine(
    log: EventLog,
    inference: Inference,
    bound: TopItemCounts,
    measured: BoundedTopItemCounts,
    grants: Mapping[str, Grant],
    noise: NoiseSource,
) -> Inference:
    """Release users by number of records of the first items, and then their counts under the best threshold."""
    places, histogram = bound.among.places, add_noise(measured.people, grants["people"], noise)
    subset = inference.subset_of(places, histogram)
    deviations = threshold_deviations(bound.limits, grants["counts"].cost, log.counting)
    threshold = subset.first_model.best_threshold(list(zip(bound.limits, deviations, strict=True)))
    counts = add_noise(measured.counts[bound.limits.index(threshold)], grants["counts"], noise)
    return inference.with_refinement(RefinementMeasurements(places, histogram, threshold, counts), subset)


def refinement_stages(counting: Counting, *, gaussian: bool) -> Stages:
    """Return the stages of a refinement.

    Its threshold will be one whose noise can be drawn, if that of 1 can.
    """
    histogram = Stage("people", _HISTOGRAM_SHARE, gaussian=gaussian, sensitivity=Sensitivity.of_l1(1))
    moves = WeightToThreshold(1, "l2" if gaussian else "l1").sensitivity(counting, columns=1)
    counts = Stage(
        "counts", 1 - _HISTOGRAM_SHARE, gaussian=gaussian, sensitivity=moves, unit=FIXED_POINT, on=REFINED_COUNTS
    )
    return normalize_split([histogram, counts])
