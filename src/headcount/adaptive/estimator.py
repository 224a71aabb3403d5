"""The adaptive estimator: measurements of light and heavy users, and what follows from them.

Four phases, each with a typed result:

1. :func:`headcount.adaptive.threshold_choice.plan`: released activity histograms → :class:`Plan` (the threshold);
2. :mod:`headcount.adaptive.measure` alone spends: → :class:`Measurements`;
3. :class:`Inference`: a pure function of measurements and priors → counts of all records;
4. their intervals (:mod:`headcount.adaptive.intervals`), a part of every :class:`Posterior`.

Measurements follow each other: which classes and items are measured next follows from the inference so far. So an
inference computes each part when it is first used, and hands it on to the inference with further measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.activity_histogram import UserEstimates
from headcount.adaptive.intervals import average_to_item_ratio, estimate_counts, relative_variances
from headcount.adaptive.item_context_estimates import estimate_item_contexts
from headcount.adaptive.light_heavy_estimates import ShrinkageModel, choose_ratios, fit_shrinkage
from headcount.adaptive.popularity_scale_up import ReleasedProfile
from headcount.adaptive.posterior import NoisyPair, Posterior
from headcount.adaptive.priors import PRIORS, Priors
from headcount.adaptive.refinement.estimate import RefinedCounts, Subset, refined_subset
from headcount.adaptive.scale_up import Ratios, scale_up
from headcount.adaptive.threshold_choice import Plan
from headcount.bounds import CountTable, Noisy, WeightToThreshold

LEVEL = 0.95
"""The level of all intervals."""


@dataclass(frozen=True)
class NoisyGroupTables(Noisy):
    """Noisy tables of light and of heavy users, one after the other, in steps of the noise of the second.

    Light users' noise has a distribution of its own, of the same scale, in whole numbers, as their counts are.
    """

    light: NoiseDistribution


@dataclass(frozen=True, eq=False)
class RefinementMeasurements:
    """The second measurement of some items: users by number of records of them, and counts under a threshold."""

    places: Integers
    histogram: Noisy
    threshold: int
    counts: Noisy


@dataclass(frozen=True, eq=False)
class Measurements:
    """All released values of a log: noisy tables under a plan, and then a class profile and a refinement."""

    plan: Plan
    tables: Mapping[CountTable, NoisyGroupTables]
    profile: ReleasedProfile | None = None
    refinement: RefinementMeasurements | None = None


@dataclass(frozen=True, eq=False)
class Inference:
    """Counts of all records, given measurements and priors: a pure function of both."""

    measurements: Measurements
    priors: Priors = PRIORS

    def with_profile(self, profile: ReleasedProfile) -> Inference:
        """Return the inference with a class profile; the model does not depend on it."""
        return self._extended(replace(self.measurements, profile=profile), model=self.model)

    def with_refinement(self, refinement: RefinementMeasurements, subset: Subset) -> Inference:
        """Return the inference with a refinement, whose histogram made the ``subset``."""
        kept = {"model": self.model, "ratios": self.ratios, "first_counts": self.first_counts}
        return self._extended(replace(self.measurements, refinement=refinement), **kept, subset=subset)

    def _extended(self, measurements: Measurements, **parts: Any) -> Inference:
        """Return the inference from more measurements, with parts that are the same."""
        extended = replace(self, measurements=measurements)
        vars(extended).update(parts)
        return extended

    @property
    def table(self) -> CountTable:
        """The table that others follow: items, if they are counted."""
        return next(iter(self.measurements.tables))

    @cached_property
    def model(self) -> ShrinkageModel:
        """How the first table is shrunk."""
        plan, table = self.measurements.plan, self.table
        return shrink_groups(self.measurements.tables[table], plan.users[table], plan.bound, self.priors)

    @cached_property
    def ratios(self) -> Ratios:
        """How heavy users' counts are scaled up."""
        return choose_ratios(self.model, self.measurements.profile)

    @cached_property
    def first_counts(self) -> Posterior:
        """The counts of the first table, without refinement."""
        return estimate_counts(self.model, self.ratios).reshape(_shape(self.measurements.tables[self.table]))

    def subset_of(self, places: Integers, histogram: Noisy) -> Subset:
        """Return what is known of some items before their second measurement, given their released histogram."""
        return refined_subset(self.model, self.ratios, self.first_counts, places, histogram)

    @cached_property
    def subset(self) -> Subset | None:
        """The refined items, if they were measured."""
        refinement = self.measurements.refinement
        return None if refinement is None else self.subset_of(refinement.places, refinement.histogram)

    @cached_property
    def refined(self) -> RefinedCounts | None:
        """The counts of the refined items, if they were measured."""
        refinement = self.measurements.refinement
        if refinement is None or self.subset is None:
            return None
        counts = self.subset.refine(refinement.counts, refinement.threshold)
        return RefinedCounts(refinement.places, self.subset.prior.counts, counts)

    @cached_property
    def counts(self) -> Posterior:
        """The counts of the first table."""
        refined = self.refined
        return self.first_counts if refined is None else self.first_counts.replace(refined.places, refined.counts)

    def infer(self) -> dict[CountTable, Posterior]:
        """Return the counts of all tables, with intervals."""
        plan = self.measurements.plan
        estimates = {self.table: self.counts}
        for table, noisy in self.measurements.tables.items():
            if table == self.table:
                continue
            items, variances = self.counts, None  # counts of records sum to their item
            if plan.users[table].distinct:
                variances = relative_variances(self.model, self.ratios)
                if self.refined is not None:
                    items, variances = self.refined.for_contexts(self.counts, variances)
            average = average_to_item_ratio(self.model, self.ratios)
            estimates[table] = item_contexts_from(
                noisy, items, plan.users[table], plan.bound, average, variances, self.priors
            )
        return estimates


def shrink_groups(
    noisy: NoisyGroupTables, users: UserEstimates, bound: WeightToThreshold, priors: Priors = PRIORS
) -> ShrinkageModel:
    """Fit how to shrink the noisy tables of both groups."""
    light, heavy = noisy.values.reshape(2, -1)
    pair = NoisyPair(light, heavy, float(noisy.distribution.step))
    return fit_shrinkage(
        pair, noisy.distribution, users, bound.limit, bound.norm, level=LEVEL, light=noisy.light, priors=priors
    )


def counts_from(noisy: NoisyGroupTables, users: UserEstimates, bound: WeightToThreshold) -> Posterior:
    """Turn the noisy tables of both groups into one table of counts, without a class profile."""
    model = shrink_groups(noisy, users, bound)
    return estimate_counts(model, choose_ratios(model)).reshape(_shape(noisy))


def item_contexts_from(
    noisy: Noisy,
    items: Posterior,
    users: UserEstimates,
    bound: WeightToThreshold,
    average_to_item: Floats | None = None,
    variances: Floats | None = None,
    priors: Priors = PRIORS,
) -> Posterior:
    """Turn the noisy item-context counts of both groups into counts, given the item counts.

    ``average_to_item`` is the average scale-up factor over that of each item; ``variances`` are the relative
    variances of the item counts.
    """
    full = scale_up(users.estimated.above(bound.limit), bound.limit, bound.norm, distinct=False)
    average = full.counted[-1] / full.weighed[-1]
    ratios = np.full(items.mean.size, average) if average_to_item is None else average / average_to_item
    variance = noisy.distribution.variance * (1 + ratios**2)
    return estimate_item_contexts(
        items,
        _ScaledMeasurements(noisy, ratios),
        variance,
        sums=not users.distinct,
        relative_variances=variances,
        priors=priors.item_contexts,
    )


@dataclass(frozen=True)
class _ScaledMeasurements:
    """Item-context counts as both groups together measure them: light ones, and heavy ones scaled up."""

    noisy: Noisy
    ratios: Floats  # of each item

    @property
    def shape(self) -> tuple[int, ...]:
        """How many items and contexts there are."""
        return _shape(self.noisy)

    def __getitem__(self, rows: slice, /) -> Floats:
        """Return some rows."""
        light, heavy = self.noisy.values[:, rows] * float(self.noisy.distribution.step)
        return np.asarray(light + self.ratios[rows, None] * heavy)


def _shape(noisy: Noisy) -> tuple[int, ...]:
    """Return the shape of one group's table."""
    return tuple(noisy.values.shape[1:])
