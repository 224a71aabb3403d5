"""Adaptive: count light users in full, down-weight heavy users; the threshold follows from noisy activity.

First a small share of ε releases how active people are: how many have 1, 2, 3-4, 5-8, … records. From this
histogram alone follows the limit θ with the smallest predicted error (:mod:`headcount.adaptive.predicted_error`).
Light users, with at most θ records, are counted in full. Heavy users' records share θ: each of n records weighs
θ/n, the expectation of what SRA keeps, without its chance. Both groups get noise that pays for θ, light users in
whole numbers, as their counts are. Items are then sorted into classes by these noisy counts, and a last small
share of ε releases what kinds of items heavy users of each activity have. What follows uses released numbers
alone: both noisy tables are shrunk together by empirical Bayes, items that are neighbours in the catalogue
together if they are alike, the heavy one is scaled up by what was measured of its classes, and
edges are made to sum to their item.

With Gaussian noise (which needs δ) heavy users' records weigh √(θ/n), n being the sum of squares of a user's
numbers of records of each item: for the same noise they keep far more of their weight.

With ``at_most``, a public cap, a person with more records counts as if so many of them, drawn at random, were all:
in expectation, without the draw. No person beyond the cap can then hide in the noise, and intervals are narrower.

Why it is private
    A user is in one bin of the histogram, so noise of scale 1/ε₀ pays for ε₀. With the histogram released, θ is
    fixed. A user is in one group, by their own number of records, and adds at most θ in L1 to both tables together
    (√θ in L2 where weights are √(θ/n)), so noise that pays for θ on both tables pays for that user once. With
    these released, classes are fixed, and a user adds at most 1 in L1 to what is measured of them. The first items
    are then fixed, too; why looking closer is private, :mod:`headcount.adaptive.refinement.measure` says. Stages
    add up by adaptive composition; tables with Gaussian noise share the ρ that the rest of ε, and δ, allow for.

Departures from the paper
    None: this is Headcount's own method. Its weights are the expectation of what SRA keeps.

Reference
    docs/methods/adaptive.md. The parts: L. Fan, H. Jin, WWW 2015 (bounded user samples); W.-Y. Day, N. Li, ASIACCS
    2015 (weighting in place of sampling); H. Robbins, 1956 (empirical Bayes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution, NoiseKind
from headcount.adaptive.activity_histogram import histogram_table
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.heavy_user_counts import (
    LIGHT_AND_HEAVY,
    MOST_RECORDS,
    add_group_noise,
    average_to_item_ratio,
    choose_threshold,
    class_profile_bound,
    counts_with_profile,
    estimate_users,
    item_contexts_from,
    reconcile_groups,
    release_histogram,
    shrink_groups,
)
from headcount.adaptive.light_heavy import relative_variances
from headcount.adaptive.refinement.measure import (
    Refinement,
    plan_refinement,
    refine_first_items,
    refinement_stages,
)
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
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.counts.tables import (
    LEVEL,
    NOUNS,
    NoisyTables,
    assumptions,
    at_most,
    interval_table,
    release_of,
)
from headcount.methods.method import (
    CAME_LATER,
    EVERYTHING,
    ONE_ID,
    PUBLIC_CATALOGUE,
    Bounds,
    Staged,
    What,
    describe_cost,
    describe_extent,
    tables_of,
)
from headcount.noise import NoiseSource, noise_norm
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.formatting import some
from headcount.releases.release import UNCOVERED, Release

ACTIVITY_SHARE = Decimal("0.05")
PROFILE_SHARE = Decimal("0.03")
REFINEMENT_SHARE = Decimal("0.08")


@dataclass(frozen=True, kw_only=True)
class Adaptive(Staged):
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
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (ActivityHistogram, WeightToThreshold, ClassProfile, TopItemCounts)
    gone: ClassVar[Mapping[str, float]] = {"lean": 0.0}
    """What requests said that ledgers know, and no longer say."""

    limit: int | None = None
    integers: bool = False
    what: What | None = None
    shares: Mapping[str, Amount] | None = None
    noise: NoiseKind = "laplace"
    at_most: int | None = field(default=None, metadata=CAME_LATER)

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_limit(self.limit)
        if self.at_most is not None:
            check_limit(self.at_most, "at_most")
            # people beyond the cap are heavy users: nobody is known of them where the limit is the cap
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

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release the histogram, then the counts of both groups, and make the most of them."""
        guarantee = self.guarantee(grant)
        engine = engine or LocalEngine()
        tables = tables_of(self.what, log)
        stages = self.stages(log, grant.cost)
        grants = split_among_stages(stages, grant)
        measured = split_among_stages(stages[0].parts, grants["activity"])
        costs = {table: grants[table].cost for table in tables}
        norm = noise_norm(costs[tables[0]])
        max_records = self.at_most or MOST_RECORDS
        histograms = {
            table: release_histogram(log, table, measured[table], noise, engine, norm, max_records)
            for table in self._histogram_tables(log)
        }
        users = {
            table: estimate_users(log, table, histograms.get(table, histograms[tables[0]]), norm, self.at_most)
            for table in tables
        }
        limit = self.limit or choose_threshold(log, users, costs, max_records, grants["shares"].cost)
        bound = WeightToThreshold(limit, norm, apart=True)
        counted = engine.measure(log, bound, noise.key())
        noisy = {table: add_group_noise(getattr(counted, table), grants[table], noise) for table in tables}
        if len(noisy) == 2 and log.counting == "records":
            noisy["items"], noisy["edges"] = reconcile_groups(noisy["items"], noisy["edges"])
        first, *others = tables
        model = shrink_groups(noisy[first], users[first], bound, LEVEL)
        profile_bound, refinement = class_profile_bound(first, model, grants["shares"], self.at_most), None
        profile_inputs = noisy[first], model, grants["shares"], noise
        if "first" in grants:
            plan = plan_refinement(log, model, profile_bound, grants["first"])
            measurements = engine.measure(log, plan.bound, noise.key())
            best, ratios = counts_with_profile(profile_bound, measurements.shares, *profile_inputs)
            refinement = refine_first_items(log, plan, measurements, best, model, ratios, noise)
            best = refinement.merge_into(best)
        else:
            best, ratios = counts_with_profile(
                profile_bound, engine.measure(log, profile_bound, noise.key()), *profile_inputs
            )
        estimates: dict[CountTable, Posterior] = {first: best}
        for table in others:
            item_counts, count_variances = best, None  # of records edges sum to their item
            if log.counting == "users":
                count_variances = relative_variances(model, ratios)
                if refinement is not None:
                    item_counts, count_variances = refinement.for_contexts(best, count_variances)
            estimates[table] = item_contexts_from(
                noisy[table],
                item_counts,
                users[table],
                bound,
                average_to_item_ratio(model, ratios),
                count_variances,
            )
        # edges of records sum to their item, which rounding would end
        rounded = self.integers or (model.counts_whole and tables == ("items",))
        if rounded:
            estimates = {table: _round_estimates(entry) for table, entry in estimates.items()}
        released: dict[str, pa.Table] = {
            table: interval_table(log, table, entry.mean, entry.low, entry.high)
            for table, entry in estimates.items()
        }
        laws: dict[str, NoiseDistribution] = {
            table: replace(entry.distribution, on=LIGHT_AND_HEAVY) for table, entry in noisy.items()
        }
        sentences = self._describe_steps(
            log, limit, histograms[tables[0]], noisy, grants, refinement, rounded=rounded
        )
        return release_of(
            self,
            log,
            guarantee,
            NoisyTables(
                tables={**released, "activity": _activity_table(log, histograms)},
                noise_distributions={**laws, "activity": histograms[tables[0]].distribution},
                steps=tuple(sentences),
                chosen={} if self.limit is not None else {table: {"limit": limit} for table in tables},
            ),
            bounded=self._describe_extent(log),
            noise=noise,
            steps=(),
            covers="true" if self._describe_extent(log) == EVERYTHING else "bounded",
            average=True,
        )

    def _describe_extent(self, log: EventLog) -> str:
        """Say how much of each person counts: all, but where a cap is given or people are in one context alone."""
        whole = describe_extent(log)
        if self.at_most is None:
            return whole
        capped = at_most(self.at_most, log)
        return capped if whole == EVERYTHING else f"{capped}, of {whole}"

    def _histogram_tables(self, log: EventLog) -> tuple[CountTable, ...]:
        """Return the tables whose activity is released: one where both have the same records."""
        tables = tables_of(self.what, log)
        return tables if log.counting == "users" and log.width > 1 else tables[:1]

    def _describe_steps(
        self,
        log: EventLog,
        limit: int,
        released: Noisy,
        noisy: Mapping[CountTable, Noisy],
        grants: Mapping[str, Grant],
        refinement: Refinement | None,
        *,
        rounded: bool,
    ) -> list[str]:
        unit = "records" if log.counting == "records" else "different items"
        weigh = "they weigh" if self.noise == "laplace" else "the squares of their weights sum to"
        sentences = [
            f"First it was released how many people have 1, 2, 3-4, 5-8, … {unit}, with "
            f"{released.distribution.in_words()}, paid with {describe_cost(grants['activity'])}.",
            f"The limit of {limit:,} was given."
            if self.limit is not None
            else f"From that alone a limit of {limit:,} was chosen, by predicted error, at no further cost.",
            f"People with at most {some(limit, unit[:-1])} were counted in full; of the others all {unit} count "
            f"in part, so that together {weigh} {limit:,}. No person is in both groups.",
        ]
        if self.at_most is not None:
            sentences.insert(
                0,
                f"A person with more than {self.at_most:,} {unit} counted as if so many of them were all.",
            )
        sentences += [
            f"Every {NOUNS[table]} of each group, zeros included, got {pair.distribution.in_words()}, of the "
            f"first group "
            f"in whole numbers, paid with {describe_cost(grants[table])}."
            for table, pair in noisy.items()
        ]
        sentences += [
            "Items were put into classes by these noisy counts, and it was released which shares of their "
            "records the others have in each class, people of each activity together, paid with "
            f"{describe_cost(grants['shares'])}.",
            "From these released numbers alone, the counts of both groups were shrunk together by empirical "
            "Bayes, neighbours in the catalogue together where their counts are alike, and those of the second "
            "group were scaled up by what was released of their classes.",
        ]
        if refinement is not None:
            sentences.append(refinement.describe(unit, weigh, describe_cost(grants["first"])))
        if len(noisy) == 2 and log.counting == "records":
            sentences.append(
                "Items and edges were reconciled by least squares, so that the edges of an item sum to its count."
            )
        if self.at_most is None and log.counting == "records":
            sentences.append(self._describe_undetected(released))
        if rounded:
            why = "" if self.integers else "Nobody else seems to be there, so counts are whole. "
            sentences.append(
                f"{why}All numbers were then rounded to whole ones, so that sums may be off by a few."
            )
        return sentences

    def _describe_undetected(self, released: Noisy) -> str:
        """Say whom no interval allows for where nothing bounds a person's records."""
        users = some(math.ceil(released.distribution.half_width(LEVEL)), "person", "people")
        sentence = (
            f"{UNCOVERED}{users} of any one activity, even with extremely many records each: counts and "
            "intervals know nothing of such people."
        )
        return (
            sentence if self.noise == "gaussian" else f"{sentence} A public cap, --at-most, bounds what they add."
        )


def _activity_table(log: EventLog, histograms: Mapping[CountTable, Noisy]) -> pa.Table:
    """Make the table of released bins: of records, or of different items and of different pairs."""
    names = {"items": "items", "edges": "pairs"}
    return pa.concat_tables(
        [
            histogram_table(
                released.counts,
                released.distribution.half_width(LEVEL),
                "records" if log.counting == "records" else names[table],
            )
            for table, released in histograms.items()
        ]
    )


def _round_estimates(estimate: Posterior) -> Posterior:
    """Round counts to the nearest whole numbers, and intervals outwards."""
    rounded: list[NDArray[np.float64]] = [np.rint(estimate.mean), np.floor(estimate.low), np.ceil(estimate.high)]
    return Posterior(*rounded)
