"""Totals: users, records, distinct items, and the sum, mean and quantiles of a value, with noise.

Each person counts once among the people, and with at most ``limit`` records among the records. If a value column
is declared, every value is rounded to a fixed point and cut to its range, and its distance from the middle of the
range is added up. A person with n > ``limit`` records adds ``limit`` / n of their own sum: what a random choice of
``limit`` records would add on average, and without its variance. A range that is not declared is found first.

Why it is private
    One user who joins adds 1 to the people, at most l to the records, and at most l · (HI - LO) / 2 to the sum of
    distances, either way, in whole multiples of the fixed point. Discrete Laplace noise of scale 1/ε₁, l/ε₂ and
    l · (HI - LO) / 2ε₃ pays for these. Nothing is drawn but the noise. The sum and the mean are worked out from
    released numbers: :mod:`headcount.methods.totals.sums`.

    Whatever else is asked for has a part of the grant of its own, and all parts add up to ε: a range
    (:mod:`headcount.methods.totals.value_range`), which is released before anything is cut to it, quantiles
    (:mod:`headcount.methods.totals.quantiles`), and numbers of groups and of different items
    (:mod:`headcount.methods.totals.group_totals`).

Reference
    C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating Noise to Sensitivity in Private Data Analysis. TCC
    2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import NO_SECRET, SampleRecords, Sensitivity, check_limit
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.values.user_totals import FixedRange, UserTotals
from headcount.bounds.values.value_histograms import By, UserGroups, UserValues
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.counts.tables import at_most
from headcount.methods.method import OMITTED_BY_DEFAULT, ONE_ID, Bounds, Staged, describe_cost, describe_filters
from headcount.methods.totals import GROUPS, QUANTILES
from headcount.methods.totals.group_totals import (
    distinct_items,
    group_names,
    group_stages,
    group_table,
    group_totals,
)
from headcount.methods.totals.quantiles import (
    MOST_CELLS,
    Points,
    choose_quantiles,
    level_stages,
    max_rank_errors,
    quantile_table,
)
from headcount.methods.totals.sums import (
    Row,
    describe_distances,
    describe_sum,
    interval_row,
    sum_and_mean,
    totals_table,
)
from headcount.methods.totals.value_range import estimate_range, fixed_range, range_bound, range_ends
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.formatting import per_cent
from headcount.releases.intervals import Term
from headcount.releases.release import Interval, Release

_WEIGHTS = "the weights that tell a range"


@dataclass
class _ReleaseParts:
    """What a release is made of, as it comes."""

    noise_distributions: dict[str, NoiseDistribution] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    chosen: dict[str, dict[str, str]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Totals(Staged):
    """Release the number of people and of records, and the sum and mean of a value.

    >>> from headcount.noise import SeededNoise
    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> Totals(limit=2).release(log, Grant("90"), SeededNoise(1)).totals["value"].to_pylist()
    [2.0, 3.0]
    """

    name: ClassVar[str] = "totals"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (UserTotals, UserValues, UserGroups, SampleRecords, KeySupport)
    example: ClassVar[dict[str, int]] = {"limit": 3}

    limit: int
    quantiles: tuple[int, ...] | None = field(default=None, metadata=OMITTED_BY_DEFAULT)
    by: By | None = field(default=None, metadata=OMITTED_BY_DEFAULT)
    distinct: bool = field(default=False, metadata=OMITTED_BY_DEFAULT)
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        if self.quantiles is not None or self.by is not None:
            UserValues(self.limit)

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε for adding or removing a user."""
        declared = (
            f"the limit of {self.limit}, which records count at all, and the range of values, if one was given, "
        )
        return Guarantee(
            epsilon=priced.epsilon, assumes=(f"{declared}were chosen without looking at the log", ONE_ID)
        )

    def check(self, log: EventLog) -> None:
        """Refuse what totals have no use for."""
        wrong = {
            param.context: log.context is not None and self.by != "contexts",
            param.context_of("user"): log.context_of == "user",
            param.count("users"): log.counting == "users",
            param.select_items(True): log.selects,
        }
        for flag, given in wrong.items():
            if given:
                more = f", or add {param.by('contexts')}" if flag == param.context else ""
                raise UsageError(
                    f"totals cannot use {flag}: they count all people and all their records",
                    remedy=f"leave it out{more}, or narrow the records down with {param.where}",
                )
        problems = {
            f"{param.quantiles} are of a value": self.quantiles is not None and log.roles.value is None,
            f"{param.by('contexts')} needs a context": self.by == "contexts" and log.context is None,
            f"{param.by('items')} needs a list of items": self.by == "items" and not log.has_catalogue,
            f"{param.distinct(True)} by contexts needs a list of items": self.distinct
            and self.by == "contexts"
            and not log.has_catalogue,
        }
        for problem, is_missing in problems.items():
            if is_missing:
                flag = {"e": param.value("COL"), "t": param.context("COL")}.get(problem[-1], param.items("FILE"))
                raise UsageError(problem, remedy=f"name it with {flag}")

    def stages(self, log: EventLog, price: Cost) -> Stages:
        """Each number; the sum is as fine as its noise can be drawn."""
        stage_list = [
            Stage("users", Decimal("0.2"), sensitivity=Sensitivity.of_l1(1), tells=("users",)),
            Stage("records", Decimal("0.3"), sensitivity=Sensitivity.of_l1(self.limit), tells=("records",)),
        ]
        if self.distinct:
            stage_list.append(
                Stage("items", Decimal("0.3"), sensitivity=Sensitivity.of_l1(self.limit), tells=("items",))
            )
        if self.by is not None:
            parts = group_stages(log, self.limit, self.by, count_items=self._items_by_group)
            stage_list.append(Stage("groups", Decimal("0.5"), parts=parts))
        if log.roles.value is not None:
            if log.value_range is None:
                stage_list.append(Stage("range", Decimal("0.2")))
            stage_list.append(Stage("sum", Decimal("0.5")))
        if self.quantiles is not None:
            stage_list.append(Stage("quantiles", Decimal(1), parts=level_stages(self.quantiles)))
        stages = normalize_split(stage_list, self.shares)
        if log.roles.value is None:
            return stages
        return tuple(
            self._with_sensitivity(stage, log, split_among_stages(stages, price)["sum"]) for stage in stages
        )

    @property
    def _items_by_group(self) -> bool:
        return self.distinct and self.by == "contexts"

    def _with_sensitivity(self, stage: Stage, log: EventLog, price: Cost) -> Stage:
        """Add what is known of the range and the sum without data."""
        if stage.name == "range":
            bound = range_bound(range_ends(self.limit, price))
            moves = Sensitivity.of_l1(bound.most)
            return replace(stage, sensitivity=moves, unit=bound.unit, on=_WEIGHTS, tells=("range",))
        if stage.name != "sum" or log.value_range is None:
            return stage
        within = fixed_range(log.value_range, self.limit, price)
        sum_sensitivity = Sensitivity.of_l1(self.limit * within.half_width)
        return replace(
            stage, sensitivity=sum_sensitivity, unit=within.unit, on=describe_distances(within), tells=("sum",)
        )

    def notes(self, log: EventLog, priced: CostOrGrant) -> tuple[str, ...]:
        """Say how far quantiles can be off, and what is not known of a sum."""
        price = cost_of(priced)
        parts, sentences = split_among_stages(self.stages(log, price), price), []
        if log.roles.value is not None and log.value_range is None:
            sentences.append("the sum: as noisy as the range that will be found is wide")
        if self.quantiles is not None:
            rank_error = self._rank_errors(self.quantiles, parts["quantiles"]).max()
            sentences.append(
                f"quantiles: with probability 95 %, no more than {rank_error:,.4g} records from their rank"
            )
        return tuple(sentences)

    def _rank_errors(self, targets: tuple[int, ...], price: Cost) -> Floats:
        return max_rank_errors(targets, self.limit, MOST_CELLS, price, (1 - LEVEL) / 2)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Measure and spend each number's part of the grant, the range of values first."""
        self.check(log)
        engine = engine or LocalEngine()
        guarantee, grants = self.guarantee(grant), split_among_stages(self.stages(log, grant.cost), grant)
        parts = _ReleaseParts()
        within = self._range(log, grants, noise, engine, parts) if "sum" in grants else None
        exact = engine.measure(log, UserTotals(self.limit, within), NO_SECRET)
        noisy = {name: add_noise(getattr(exact, name), grants[name], noise) for name in ("users", "records")}
        rows = [
            interval_row(name, float(entry.counts[0]), [Term(1.0, entry.distribution)])
            for name, entry in noisy.items()
        ]
        parts.noise_distributions |= {name: entry.distribution for name, entry in noisy.items()}
        parts.steps += [
            f"The number of people got {parts.noise_distributions['users'].in_words()}, paid with "
            f"{describe_cost(grants['users'])}.",
            f"The number of records, {at_most(self.limit, log)}, got "
            f"{parts.noise_distributions['records'].in_words()}, paid with "
            f"{describe_cost(grants['records'])}.",
        ]
        laws = parts.noise_distributions
        if exact.distances is not None and within is not None:
            distances = add_noise(exact.distances, grants["sum"], noise)
            laws["sum"] = replace(distances.distribution, on=describe_distances(within))
            rows += sum_and_mean(within, float(distances.counts[0]), laws["sum"], rows[1][1], laws["records"])
            parts.steps += describe_sum(log, within, self.limit, laws["sum"], grants["sum"])
        if self.distinct:
            rows.append(self._items(log, grants["items"], noise, engine, parts))
        parts.tables = {"totals": totals_table(rows)}
        records = ([rows[1][1]], laws["records"])
        if self.by is not None:
            records = self._groups(log, self.by, grants["groups"], noise, engine, parts)
        if self.quantiles is not None and within is not None:
            self._quantiles(log, within, self.quantiles, records, grants["quantiles"], noise, engine, parts)
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=laws,
            tables=parts.tables,
            interval=Interval(level=LEVEL, covers="bounded"),
            counts="records",
            bounded=at_most(self.limit, log),
            chosen=parts.chosen,
            steps=(*describe_filters(log), *parts.steps),
            catalogue=log.catalogue.digest if log.has_catalogue else "",
            simulated=not noise.is_private,
        )

    def _range(
        self, log: EventLog, grants: Mapping[str, Grant], noise: NoiseSource, engine: Engine, parts: _ReleaseParts
    ) -> FixedRange:
        """Return the range of values, found first where none is declared."""
        price = grants["sum"].cost
        if log.value_range is not None:
            return fixed_range(log.value_range, self.limit, price)
        ends = range_ends(self.limit, price)
        noisy = add_noise(engine.measure(log, range_bound(ends), NO_SECRET), grants["range"], noise)
        low, high = estimate_range(ends, noisy)
        parts.noise_distributions["range"] = replace(noisy.distribution, on=_WEIGHTS)
        parts.chosen["range"] = {"low": f"{low:f}", "high": f"{high:f}"}
        parts.steps.append(
            f"No range was given for the values of column {log.roles.value!r}. So each person weighed one record "
            "in all, divided among their values, which were counted between powers of two; these weights got "
            f"{noisy.distribution.in_words()}, paid with {describe_cost(grants['range'])}. Where they are clearly "
            "above it, values "
            f"lie between {low:f} and {high:f}. What lies beyond counts as if it were at the end that is nearer."
        )
        return fixed_range((low, high), self.limit, price)

    def _items(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine, parts: _ReleaseParts) -> Row:
        noisy = add_noise(distinct_items(log, self.limit, noise, engine), grant, noise)
        parts.noise_distributions["items"] = noisy.distribution
        parts.steps.append(
            f"Of the different items of each person, {self.limit:,} random ones at most were kept; the number of "
            f"different items that somebody kept got {noisy.distribution.in_words()}, paid with "
            f"{describe_cost(grant)}. It is too "
            "low where people have more of them."
        )
        return interval_row("items", float(noisy.counts[0]), [Term(1.0, noisy.distribution)])

    def _groups(
        self, log: EventLog, by: By, grant: Grant, noise: NoiseSource, engine: Engine, parts: _ReleaseParts
    ) -> tuple[list[float], NoiseDistribution]:
        price = describe_cost(grant)
        numbers_by_kind = group_totals(log, self.limit, by, grant, noise, engine, count_items=self._items_by_group)
        parts.noise_distributions |= {f"{kind} of groups": law for kind, (_, law) in numbers_by_kind.items()}
        parts.tables[GROUPS.name] = group_table(group_names(log, by), numbers_by_kind)
        noise_words = "; ".join(f"{kind} {law.in_words()}" for kind, (_, law) in numbers_by_kind.items())
        parts.steps.append(
            f"In each of the {by} a person counted once, in {self.limit:,} of them at most, and with as many "
            f"records over all of them together. The numbers got noise, {noise_words}: paid with {price}."
        )
        return numbers_by_kind["records"]

    def _quantiles(
        self,
        log: EventLog,
        within: FixedRange,
        targets: tuple[int, ...],
        records: tuple[list[float], NoiseDistribution],
        grant: Grant,
        noise: NoiseSource,
        engine: Engine,
        parts: _ReleaseParts,
    ) -> None:
        points, price = Points.spanning(within), grant.cost
        weights = engine.measure(log, UserValues(self.limit, points.grid, self.by), NO_SECRET)
        cells = choose_quantiles(weights, targets, grant, noise)
        numbers, distribution = records
        many = np.array(numbers) - distribution.half_width(1 - (1 - LEVEL) / 2)
        rank_errors = self._rank_errors(targets, price)
        parts.tables[QUANTILES.name] = quantile_table(
            group_names(log, self.by), targets, points.values[cells], rank_errors, many
        )
        scope = "" if self.by is None else f" of each of the {self.by}"
        parts.steps.append(
            f"The quantiles{scope} are of records, of which a person with more than {self.limit:,} has as many: "
            f"all of theirs weigh alike. They were chosen among {points.steps + 1:,} values from {points.low:g} "
            f"to {points.high:g}, so that those near the exact rank are the likeliest, in "
            f"{len(level_stages(targets))} steps paid with {describe_cost(price)}. Beside each are the ranks "
            f"between which it lies with probability {per_cent(LEVEL)}."
        )
