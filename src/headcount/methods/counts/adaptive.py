"""Adaptive: count light users in full, down-weight heavy users; the threshold follows from noisy activity.

First a small share of ε releases how active users are: how many have 1, 2, 3-4, 5-8, … records. From this
histogram alone follows the threshold θ with the smallest predicted error
(:mod:`headcount.adaptive.threshold_choice`). Light users, with at most θ records, are counted in full. Each of the
n records of a heavy user weighs θ/n, the expectation of what SRA keeps, without its chance. Both groups get noise
that pays for θ, light users in whole numbers, as their counts are. Items are then sorted into classes by these
noisy counts, and a last small share of ε releases which classes heavy users of each activity have. The estimates
are post-processing (:mod:`headcount.adaptive.estimator`): both noisy tables are shrunk together by empirical
Bayes, neighbours in the catalogue together if their counts are similar; the heavy one is scaled up by the measured
factors of its classes; and item-context counts are made to sum to their item.

With Gaussian noise (which needs δ) heavy users' records weigh √(θ/n), n being the sum of squares of a user's
numbers of records of each item: for the same noise they keep far more of their weight.

With ``at_most``, a public cap, a user with more records counts as if so many of them, drawn at random, were all:
in expectation, without the draw. Undetected users then add at most the cap, and intervals are narrower.

Why it is private
    A user is in one bin of the histogram, so noise of scale 1/ε₀ pays for ε₀. With the histogram released, θ is
    fixed. A user is in one group, by their own number of records, and adds at most θ in L1 to both tables together
    (√θ in L2 where weights are √(θ/n)), so noise that pays for θ on both tables pays for that user once. With
    these released, classes are fixed, and a user adds at most 1 in L1 to what is measured of them. The first items
    are then fixed, too; why looking closer is private, :mod:`headcount.adaptive.measure` says. Stages
    add up by adaptive composition; tables with Gaussian noise share the ρ that the rest of ε, and δ, allow for.

Departures from the paper
    None: this is Headcount's own method. Its weights are the expectation of what SRA keeps.

Reference
    docs/methods/adaptive.md. The parts: L. Fan, H. Jin, WWW 2015 (bounded user samples); W.-Y. Day, N. Li, ASIACCS
    2015 (weighting in place of sampling); H. Robbins, 1956 (empirical Bayes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution, NoiseKind
from headcount.adaptive.estimator import Inference, Measurements
from headcount.adaptive.measure import measure_groups, measure_profile, refinement_stages, release_histogram
from headcount.adaptive.posterior import Posterior
from headcount.adaptive.threshold_choice import LIGHT_AND_HEAVY, MOST_RECORDS, plan
from headcount.bounds import (
    FIXED_POINT,
    ActivityHistogram,
    ClassProfile,
    CountTable,
    Noisy,
    Norm,
    Sensitivity,
    WeightToThreshold,
    check_limit,
)
from headcount.bounds.counts.top_item_counts import TopItemCounts
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.counts.adaptive_steps import AdaptiveFacts, describe_steps
from headcount.methods.counts.count_method import CountMethod
from headcount.methods.counts.tables import (
    NoisyTables,
    activity_table,
    assumptions,
    at_most,
    interval_table,
)
from headcount.methods.method import (
    EVERYTHING,
    OMITTED_BY_DEFAULT,
    ONE_ID,
    PUBLIC_CATALOGUE,
    Bounds,
    What,
    describe_extent,
    tables_of,
)
from headcount.noise import NoiseSource, noise_norm
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages

ACTIVITY_SHARE = Decimal("0.05")
PROFILE_SHARE = Decimal("0.03")
REFINEMENT_SHARE = Decimal("0.08")


@dataclass(frozen=True, eq=False)
class AdaptiveMeasurements:
    """All released values of a log, and the grants that paid for them."""

    histograms: Mapping[CountTable, Noisy]
    inference: Inference
    grants: Mapping[str, Grant]


@dataclass(frozen=True, kw_only=True)
class Adaptive(CountMethod[AdaptiveMeasurements]):
    """Release item and edge counts with the adaptive method.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(900) for item in ("tea", "rye") if n < 600 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> release = Adaptive().release(log, Grant("50"), SeededNoise(1))
    >>> [round(count) for count in release.items["count"].to_pylist()], release.chosen
    ([0, 600, 0, 900], {'items': {'limit': 2}})
    """

    name: ClassVar[str] = "adaptive"
    example: ClassVar[Mapping[str, int]] = {"limit": 3}
    foreseen: ClassVar[str] = "adaptive"
    average: ClassVar[bool] = True
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (ActivityHistogram, WeightToThreshold, ClassProfile, TopItemCounts)
    former_parameters: ClassVar[Mapping[str, float]] = {"lean": 0.0}
    """Parameters in the identities of requests that ledgers hold, and their values."""

    limit: int | None = None
    integers: bool = False
    what: What | None = None
    shares: Mapping[str, Amount] | None = None
    noise: NoiseKind = "laplace"
    at_most: int | None = field(default=None, metadata=OMITTED_BY_DEFAULT)

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_limit(self.limit)
        if self.at_most is not None:
            check_limit(self.at_most, "at_most")
            # users beyond the cap are heavy: none of them is known where the limit is the cap
            if self.at_most == 1:
                raise UsageError(
                    "at_most must be at least 2", given=1, remedy=f"use {param.method('sra')} {param.limit(1)}"
                )
            if self.limit is not None and self.limit >= self.at_most:
                raise UsageError(
                    "limit must be less than at_most", given=self.limit, remedy="leave limit out: it is found"
                )
        if self.at_most is not None and self.noise == "gaussian":
            raise UsageError(
                "at_most cannot be used with gaussian noise, which weighs records by their squares",
                remedy="leave one of them out",
            )
        if not isinstance(self.integers, bool):
            raise UsageError("integers must be true or false", given=self.integers)

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε for adding or removing a user; with δ where the noise is Gaussian."""
        assumes: tuple[str, ...] = (PUBLIC_CATALOGUE, ONE_ID)
        if self.limit is not None:
            assumes = assumptions(f"the limit of {self.limit} was")
        if self.at_most is not None:
            assumes = (
                *assumes,
                f"the cap of {self.at_most:,} records per person was fixed without looking at the log",
            )
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumes)

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """A little for what steers; the rest, and all of δ, for the tables.

        A limit that is not given will be one whose noise can be drawn, if that of 1 can.
        """
        tables, unit_sensitivity = tables_of(self.what, log), Sensitivity.of_l1(1)
        histograms = normalize_split(
            Stage(table, sensitivity=unit_sensitivity, tells=("activity",))
            for table in self._histogram_tables(log)
        )
        steering = [
            Stage("activity", ACTIVITY_SHARE, parts=histograms),
            Stage("shares", PROFILE_SHARE, sensitivity=unit_sensitivity.times(FIXED_POINT), unit=FIXED_POINT),
        ]
        norm: Norm = "l2" if self.noise == "gaussian" else "l1"
        if "items" in tables:
            is_gaussian = self.noise == "gaussian"
            steering.append(
                Stage(
                    "first",
                    REFINEMENT_SHARE,
                    gaussian=is_gaussian,
                    parts=refinement_stages(log.counting, gaussian=is_gaussian),
                )
            )
        counts = Stage(
            "counts",
            (1 - sum((stage.share for stage in steering), start=Decimal(0))) / len(tables),
            gaussian=self.noise == "gaussian",
            sensitivity=WeightToThreshold(self.limit or 1, norm).sensitivity(log.counting, log.cells),
            unit=FIXED_POINT,
            on=LIGHT_AND_HEAVY,
        )
        limit_declared = self.limit is not None
        own = [replace(counts, name=table, tells=(table,) if limit_declared else ()) for table in tables]
        return normalize_split([*steering, *own], self.shares)

    def noise_distributions(self, log: EventLog, priced: CostOrGrant) -> Mapping[str, NoiseDistribution]:
        """Return the noise of the counts where the limit is given, and that of the histogram."""
        laws = super().noise_distributions(log, priced)
        return {name: laws[name] for name in sorted(laws, key=lambda name: name == "activity")}

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> AdaptiveMeasurements:
        """Spend the grant: on histograms, on the counts of both groups, on a class profile and a refinement."""
        tables, stages = tables_of(self.what, log), self.stages(log, grant.cost)
        grants = split_among_stages(stages, grant)
        histogram_grants = split_among_stages(stages[0].parts, grants["activity"])
        costs = {table: grants[table].cost for table in tables}
        norm, max_records = noise_norm(costs[tables[0]]), self.at_most or MOST_RECORDS
        histograms = {
            table: release_histogram(log, table, histogram_grants[table], noise, engine, norm, max_records)
            for table in self._histogram_tables(log)
        }
        planned = plan(log, histograms, costs, grants["shares"].cost, threshold=self.limit, cap=self.at_most)
        table_grants = {table: grants[table] for table in tables}
        noisy = measure_groups(log, planned.bound, table_grants, noise, engine)
        inference = Inference(Measurements(planned, noisy))
        inference = measure_profile(log, inference, grants["shares"], grants.get("first"), noise, engine)
        return AdaptiveMeasurements(histograms, inference, grants)

    def estimate_tables(self, log: EventLog, noisy: AdaptiveMeasurements) -> NoisyTables:
        """Return the tables of all counts, from released values and public settings alone."""
        inference = noisy.inference
        estimates, groups = inference.infer(), inference.measurements.tables
        # item-context counts of records sum to their item, which rounding would end
        rounded = self.integers or (inference.model.counts_whole and tuple(groups) == ("items",))
        if rounded:
            estimates = {table: _round_estimates(entry) for table, entry in estimates.items()}
        tables: dict[str, pa.Table] = {
            table: interval_table(log, table, entry.mean, entry.low, entry.high)
            for table, entry in estimates.items()
        }
        distributions: dict[str, NoiseDistribution] = {
            name: replace(entry.distribution, on=LIGHT_AND_HEAVY) for name, entry in groups.items()
        }
        threshold = inference.measurements.plan.bound.limit
        facts = AdaptiveFacts(
            log.counting, self.noise, self.limit is not None, self.at_most, self.integers, rounded
        )
        histogram = noisy.histograms[inference.table]
        return NoisyTables(
            tables={**tables, "activity": activity_table(log.counting, noisy.histograms)},
            noise_distributions={**distributions, "activity": histogram.distribution},
            steps=tuple(describe_steps(facts, histogram, inference.measurements, noisy.grants)),
            chosen={} if self.limit is not None else {table: {"limit": threshold} for table in groups},
        )

    def extent(self, log: EventLog, noisy: AdaptiveMeasurements) -> str:  # noqa: ARG002
        """Say how much of each user counts: all, but where a cap is given or users are in one context alone."""
        whole = describe_extent(log)
        if self.at_most is None:
            return whole
        capped = at_most(self.at_most, log)
        return capped if whole == EVERYTHING else f"{capped}, of {whole}"

    def _histogram_tables(self, log: EventLog) -> tuple[CountTable, ...]:
        """Return the tables whose activity is released: one where both have the same records."""
        tables = tables_of(self.what, log)
        return tables if log.counting == "users" and log.width > 1 else tables[:1]


def _round_estimates(estimate: Posterior) -> Posterior:
    """Round counts to the nearest whole numbers, and intervals outwards."""
    return Posterior(np.rint(estimate.mean), np.floor(estimate.low), np.ceil(estimate.high))
