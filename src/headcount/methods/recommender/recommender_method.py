"""Base of recommender methods: ``measure`` spends the grant, ``estimate`` turns the noisy model into a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import CostOrGrant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Noisy
from headcount.errors import Parameter, UsageError, param
from headcount.events.log import EventLog
from headcount.methods.method import ONE_ID, PUBLIC_CATALOGUE, MeasuringMethod, describe_filters
from headcount.releases.release import Interval, Release

LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class NoisyModel:
    """The tables that follow from noisy measurements, and what a release says of them."""

    tables: Mapping[str, pa.Table]
    noise_distributions: Mapping[str, NoiseDistribution]
    chosen: Mapping[str, Any]
    bound_text: str
    steps: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class RecommenderMethod(MeasuringMethod[NoisyModel]):
    """A method that releases a model of ratings or visits, for adding or removing a user."""

    name: ClassVar[str]
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    assumptions: ClassVar[tuple[str, ...]]
    """What is declared without looking at the log."""
    shown_to: ClassVar[tuple[str, ...]] = ()
    """Who may see predictions from a user's own records."""
    counts: ClassVar[str] = "users"
    level: ClassVar[float] = LEVEL

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε, or (ε, δ), for adding or removing a user."""
        assumes = (PUBLIC_CATALOGUE, *self.assumptions, ONE_ID, *self.shown_to)
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumes)

    def estimate(self, log: EventLog, guarantee: Guarantee, noisy: NoisyModel, *, simulated: bool) -> Release:
        """Return the release of a noisy model; this is post-processing."""
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=noisy.noise_distributions,
            tables=noisy.tables,
            contexts=None if log.context is None else log.context.labels,
            context_name=None if log.context is None else log.context.name,
            interval=Interval(level=self.level),
            counts=self.counts,
            bounded=noisy.bound_text,
            chosen={"model": noisy.chosen},
            steps=(*describe_filters(log), *noisy.steps),
            catalogue=log.catalogue.digest,
            simulated=simulated,
        )


def check_ratings(log: EventLog) -> None:
    """Refuse a log that a model of ratings cannot use."""
    _refuse_parameters(log, {param.context: log.context is not None}, "one rating of each person and item counts")
    if log.roles.value is None:
        raise UsageError(
            "this needs ratings: a column of numbers and its public range",
            remedy=f"for example {param.value('rating')} {param.value_range('1,5')}; or {param.method('visits')}, "
            "which needs none",
        )
    if log.value_range is not None:
        low, high = map(float, log.value_range)
        if not 0 < high - low < inf:
            raise UsageError(
                f"{param.value_range(f'{log.value_range[0]},{log.value_range[1]}')} is too wide, or too narrow, "
                "to tell ratings apart",
                remedy="name the range of the ratings themselves, for example 1,5",
            )


def check_visits(log: EventLog, method: str = "visits", *, contexts: bool = True) -> None:
    """Refuse a log that a model of visits cannot use."""
    refused = {
        param.context: log.context is not None and not contexts,
        param.context_of("user"): log.context_of == "user",
    }
    _refuse_parameters(log, refused, "each person and item counts once")
    if log.roles.value is not None:
        raise UsageError(
            f"{param.value} is of no use to {method}", remedy=f"leave it out, or use {param.method('private')}"
        )


def _refuse_parameters(log: EventLog, refused: dict[Parameter, bool], reason: str) -> None:
    refused |= {param.count("users"): log.counting == "users", param.times: log.roles.times is not None}
    for parameter, given in refused.items():
        if given:
            raise UsageError(
                f"neighbours cannot use {parameter}: {reason}",
                remedy=f"leave it out, or narrow the records down with {param.where}",
            )


def largest(weights: Floats | Integers, items: int) -> Integers:
    """Return the places of the items with the largest weights, rising."""
    return np.sort(np.argsort(-weights, kind="stable")[:items]).astype(np.int64)


def item_column(log: EventLog) -> tuple[pa.Array, pa.Array]:
    """Return the items of the catalogue, and their labels."""
    labels = log.catalogue.labels or [None] * len(log.catalogue.ids)
    return log.catalogue.column, pa.array(labels, pa.string())


def interval_columns(noisy: Noisy) -> dict[str, Floats]:
    """Return noisy counts in one column, with the ends of their intervals."""
    counts, width = noisy.counts.ravel(), noisy.distribution.half_width(LEVEL)
    return {"count": counts, "low": counts - width, "high": counts + width}


def factor_table(ids: pa.Array, places: Integers, factors: Floats) -> pa.Table:
    """Return the table of the items that have factors."""
    lists = pa.array(list(factors), pa.list_(pa.float64()))
    return pa.table({"item": ids.take(pa.array(places)), "factors": lists})


def describe_factors(factors: int) -> str:
    """Say how many factors are above the noise."""
    if not factors:
        return "Nothing stood out of the noise."
    return f"What stood out of the noise is kept as {factors} {'number' if factors == 1 else 'numbers'} an item."
