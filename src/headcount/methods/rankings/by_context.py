"""Rankings in every context by counts: keep the best items in two rounds, then count their contexts.

Counting everything in every context at once is noisy, since all that a person has shares one limit. But what is
best in a context is nearly always among the best of all. So items are counted first, and the best kept
(``ITEMS_PER_PLACE``); these are counted again, alone, and fewer kept; and of those alone contexts are counted.
A user has few of these items, and what they have of them counts nearly in full. Each edge then borrows from
its item and from the other contexts (:mod:`headcount.adaptive.item_context_estimates`), and the largest are taken.

Why it is private
    Each look is a table of the adaptive method (:mod:`headcount.methods.counts.adaptive`) over some of the items,
    with a histogram of activity before it; which items is known from what was released before. Whether a record
    is about one of them is a function of that record, so of each person there is a part of what they did, which
    is bounded and paid for as the whole would be. Looks add up by adaptive composition: in ε, or with δ in ρ,
    where all of them, histograms included, have Gaussian noise. What is ranked, and in which contexts nothing can
    be told, follows from the noisy tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from headcount._internal.arrays import Flags, Floats, Integers
from headcount.accounting.budget import Cost, Grant
from headcount.adaptive.activity_histogram import UserEstimates
from headcount.adaptive.estimator import NoisyGroupTables, counts_from, item_contexts_from
from headcount.adaptive.measure import add_group_noise, release_histogram
from headcount.adaptive.posterior import Posterior
from headcount.adaptive.scale_up import mean_ratio
from headcount.adaptive.threshold_choice import choose_threshold, estimate_users, threshold_noise
from headcount.bounds import CountTable, ItemSubset, Noisy, Sensitivity, WeightToThreshold
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.methods.rankings.by_counts import ByCounts
from headcount.methods.rankings.ranking import Ranked, best
from headcount.noise import NoiseSource, noise_norm
from headcount.noise.stages import Stage, Stages, noise_distributions_of, normalize_split, split_among_stages

ITEMS_PER_PLACE = (30, 3)
"""How many items are kept for each place of a ranking, after the first look and after the second."""

MIN_USERS_PER_DEVIATION = 60
"""Peeling pays where an average context has so many times as many people as a round's noise deviates by."""

_ACTIVITY, _ITEMS, _AGAIN, _EDGES = (Decimal(share) for share in ("0.02", "0.40", "0.25", "0.29"))
_STANDS_OUT = 2.0  # deviations of noise within which a context may as well be empty
_CONFIRMED = 1.645  # deviations: where looks have nothing to do with each other, one time in 20 they seem to


@dataclass(frozen=True)
class SubsetTable:
    """A noisy table of some items, and what is known of the people who have them."""

    noisy: NoisyGroupTables
    people: UserEstimates
    bound: WeightToThreshold

    @property
    def ratio(self) -> float:
        """What the heavy users' weighted records amount to in full, on average."""
        return mean_ratio(self.people.estimated.above(self.bound.limit), self.bound.limit, self.bound.norm)


@dataclass(frozen=True)
class CountRanking:
    """Rankings by counts, one a context and empty where nothing can be told, with the last look at edges.

    Looks are ``confirmed`` if they go with each other further than noise alone would.
    """

    rankings: Sequence[Ranked]
    edges: SubsetTable
    candidates: int
    confirmed: bool

    @property
    def apart(self) -> float:
        """How many people apart two items are when noise swaps them one time in six: a deviation of both."""
        return math.sqrt(2 * self.edges.noisy.distribution.variance) * math.hypot(1, self.edges.ratio)


def ranking_stages(log: EventLog, k: int, cost: Cost) -> Stages:
    """Return what ε is shared among, or ρ where there is δ.

    A second look at items is of use where the first one leaves some out.
    """
    unit_sensitivity, by_rho = Sensitivity.of_l1(1), cost.delta > 0
    last = [Stage("pairs", _ACTIVITY, sensitivity=unit_sensitivity), Stage("edges", _EDGES)]
    first = [
        Stage("items", _ITEMS),
        Stage("activity", _ACTIVITY, sensitivity=unit_sensitivity),
        Stage("again", _AGAIN),
    ]
    if len(_kept_items(log, k)) == 1:
        first = [Stage("items", _ITEMS + _AGAIN)]
    return normalize_split(replace(stage, gaussian=by_rho) for stage in (*first, *last))


def drawable(log: EventLog, k: int, cost: Cost) -> bool:
    """Say whether the noise of all looks can be drawn: a public question."""
    try:
        stages = ranking_stages(log, k, cost)
        noise_distributions_of(stages, cost)
        for stage_cost in split_among_stages(stages, cost).values():
            threshold_noise(1, stage_cost, log.counting)
    except UsageError:
        return False
    return True


def peeling_pays(log: EventLog, k: int, released: Noisy, cost: Cost, *, deviation: float) -> bool:
    """Say whether to peel k places a context with noise of that deviation, as the released activity says.

    It must be small beside the people there are, and smaller than that of counts, were all items looked at.
    """
    counts = ByCounts.plan(log, released, split_among_stages(ranking_stages(log, k, cost), cost)["edges"])
    users = counts.people.estimated.total_users
    return users >= MIN_USERS_PER_DEVIATION * deviation * (log.width - 1) and not counts.pays(deviation)


def rank_contexts(
    log: EventLog, k: int, users: UserEstimates, grant: Grant, noise: NoiseSource, engine: Engine
) -> CountRanking:
    """Spend the grant on looks at fewer and fewer items, and rank what is left of them in each context."""
    grants = split_among_stages(ranking_stages(log, k, grant.cost), grant)
    kept, everything = _kept_items(log, k), np.arange(len(log.catalogue.ids), dtype=np.int64)
    table = _measure_subset(log, "items", everything, users, grants["items"], noise, engine)
    items = counts_from(table.noisy, users, table.bound)
    places = _largest_places(items, everything, kept[0])
    items, agreements = _subset(items, places), list[float]()
    if len(kept) > 1:
        refined_users = _estimate_users(log, "items", places, grants["activity"], noise, engine)
        table = _measure_subset(log, "items", places, refined_users, grants["again"], noise, engine)
        agreements.append(_agreement(items.mean, table.noisy))
        items = _combine(items, counts_from(table.noisy, refined_users, table.bound))
        inner = _largest_places(items, np.arange(places.size), kept[1])
        items, places = _subset(items, inner), places[inner]
    pairs = _estimate_users(log, "edges", places, grants["pairs"], noise, engine)
    last = _measure_subset(log, "edges", places, pairs, grants["edges"], noise, engine)
    item_contexts = item_contexts_from(last.noisy, items, pairs, last.bound)
    agreements.append(_agreement(items.mean, last.noisy))
    resolved = _resolved_contexts(last.noisy, items.mean)
    rankings = [
        best(_subset(item_contexts, (slice(None), context)), k, places) if resolved[context] else Ranked([])
        for context in range(log.width - 1)
    ]
    confirmed = sum(agreements) > _CONFIRMED * math.sqrt(len(agreements))
    return CountRanking(rankings, last, places.size, confirmed)


def _kept_items(log: EventLog, k: int) -> tuple[int, ...]:
    """Return how many items each look at items leaves."""
    first, then = (min(multiple * k, len(log.catalogue.ids)) for multiple in ITEMS_PER_PLACE)
    return (then,) if first == len(log.catalogue.ids) else (first, then)


def _restrict_log(log: EventLog, places: Integers) -> EventLog:
    """Return the log as it would be described with some items alone, for what is public: never to be read."""
    catalogue = log.catalogue
    ids = tuple(catalogue.ids[place] for place in places.tolist())
    return replace(log, catalogue=Catalogue(ids, (None,) * len(ids), catalogue.kind))


def _estimate_users(
    log: EventLog, table: CountTable, places: Integers, grant: Grant, noise: NoiseSource, engine: Engine
) -> UserEstimates:
    """Release how active people are in a table of some items."""
    norm = noise_norm(grant.cost)
    released = release_histogram(log, table, grant, noise, engine, norm, among=ItemSubset(places))
    return estimate_users(_restrict_log(log, places), table, released, norm)


def _measure_subset(
    log: EventLog, table: CountTable, places: Integers, users: UserEstimates, grant: Grant, noise: NoiseSource,
    engine: Engine,
) -> SubsetTable:  # fmt: skip
    """Release a table of some items, of light users and of heavy ones."""
    limit = choose_threshold(_restrict_log(log, places), {table: users}, {table: grant.cost})
    bound = WeightToThreshold(limit, noise_norm(grant.cost), apart=True, among=ItemSubset(places))
    measured = getattr(engine.measure(log, bound, noise.key()), table)
    shape = measured.shape[2:]
    cells = np.arange(math.prod(measured.shape[1:])).reshape(measured.shape[1:])[places]
    noisy = add_group_noise(measured, grant, noise, cells.ravel().tolist())
    return SubsetTable(replace(noisy, values=noisy.values.reshape(2, places.size, *shape)), users, bound)


def _resolved_contexts(item_contexts: Noisy, expected: Floats) -> Flags:
    """Say of which contexts something is known: not those that may as well be empty, and surely are nearly so.

    Empty is what lies within the noise, and nearly so what is surely below half of an average context. Where noise
    is too large to be sure of that, a context is taken to be like the others. Items count by the root of what is
    expected of them: those of which little is expected are little but noise, and no single one decides.
    """
    weights = np.sqrt(np.maximum(expected, 0.0))
    if not weights.any():
        weights = np.ones_like(weights)
    counts = np.tensordot(weights, item_contexts.counts.sum(axis=0), axes=1)[:-1]
    within = _STANDS_OUT * math.sqrt(2 * float(weights @ weights) * item_contexts.distribution.variance)
    half = counts.sum() / counts.size / 2
    return np.asarray(~((counts < within) & (counts + within < half)))


def _agreement(expected: Floats, fresh: Noisy) -> float:
    """Return in deviations how far a fresh look goes with what was expected of items; by noise alone, 0 ± 1."""
    counts = fresh.counts.swapaxes(0, 1).reshape(expected.size, -1)
    centred = expected - expected.mean()
    spread = math.sqrt(float(centred @ centred) * fresh.distribution.variance * counts.shape[1])
    return float(centred @ counts.sum(axis=1)) / spread if spread > 0 else 0.0


def _largest_places(counts: Posterior, places: Integers, many: int) -> Integers:
    """Return the places of the largest counts, of equal ones the first."""
    return np.asarray(places[np.argsort(-counts.mean, kind="stable")[:many]])


def _subset(counts: Posterior, which: Any) -> Posterior:
    return Posterior(counts.mean[which], counts.low[which], counts.high[which])


def _combine(first: Posterior, second: Posterior) -> Posterior:
    """Put two estimates of the same counts together, each by its precision, as the widths of intervals say."""
    precisions = [1 / np.maximum(counts.high - counts.low, 1e-9) ** 2 for counts in (first, second)]
    whole = precisions[0] + precisions[1]
    mean = (precisions[0] * first.mean + precisions[1] * second.mean) / whole
    low, high = (
        1 / np.sqrt(sum(1 / np.maximum(np.abs(end - counts.mean), 1e-9) ** 2 for end, counts in ends))
        for ends in (((first.low, first), (second.low, second)), ((first.high, first), (second.high, second)))
    )
    return Posterior(mean, np.maximum(mean - low, 0.0), mean + high)
