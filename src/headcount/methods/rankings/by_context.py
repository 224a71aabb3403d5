"""Rankings of every context by counts: look at all items, then closer at the best, then at their contexts.

Counting everything in every context at once is noisy, since all that a person has shares one limit. But what is
best in a context is nearly always among the best of all. So items are counted first, and the best kept
(``NARROW``); these are counted again, alone, and fewer kept; and of those alone contexts are counted. A person
has few of these items, and what they have of them counts nearly in full. Each edge then borrows from its item and
from the other contexts (:mod:`headcount.adaptive.item_context_estimates`), and the largest are taken.

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
from headcount.accounting.budget import Grant, Price
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.heavy_user_counts import (
    NoisyGroups,
    chosen_limit,
    counts_from,
    edges_from,
    histogram,
    law_for,
    noised,
    people_of,
)
from headcount.adaptive.scale_up import in_full
from headcount.adaptive.undetected_users import KnownPeople
from headcount.bounds import Among, CountTable, Noisy, Scale, Sensitivity
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.methods.rankings.by_counts import ByCounts
from headcount.methods.rankings.ranking import Ranked, best
from headcount.noise import NoiseSource, norm_of
from headcount.noise.stages import Stage, Stages, laws_of, share_out, shared

NARROW = (30, 3)
"""How many items are kept for each place of a ranking, after the first look and after the second."""

PEOPLE_A_ROUND = 60
"""Peeling pays where an average context has so many times as many people as a round's noise deviates by."""

_ACTIVITY, _ITEMS, _AGAIN, _EDGES = (Decimal(each) for each in ("0.02", "0.40", "0.25", "0.29"))
_STANDS_OUT = 2.0  # deviations of noise within which a context may as well be empty
_CONFIRMED = 1.645  # deviations: where looks have nothing to do with each other, one time in 20 they seem to


@dataclass(frozen=True)
class Look:
    """A noisy table of some items, and what is known of the people who have them."""

    noisy: NoisyGroups
    people: KnownPeople
    bound: Scale

    @property
    def ratio(self) -> float:
        """What the heavy users' weighted records amount to in full, on average."""
        return in_full(self.people.estimated.above(self.bound.limit), self.bound.limit, self.bound.norm)


@dataclass(frozen=True)
class Counted:
    """Rankings by counts, one a context and empty where nothing can be told, with the last look at edges.

    Looks are ``confirmed`` if they go with each other further than noise alone would.
    """

    rankings: Sequence[Ranked]
    edges: Look
    candidates: int
    confirmed: bool

    @property
    def apart(self) -> float:
        """How many people apart two items are when noise swaps them one time in six: a deviation of both."""
        return math.sqrt(2 * self.edges.noisy.law.variance) * math.hypot(1, self.edges.ratio)


def looks(log: EventLog, k: int, price: Price) -> Stages:
    """Return what ε is shared among, or ρ where there is δ.

    A second look at items is of use where the first one leaves some out.
    """
    one, by_rho = Sensitivity.of_l1(1), price.delta > 0
    last = [Stage("pairs", _ACTIVITY, moves=one), Stage("edges", _EDGES)]
    first = [Stage("items", _ITEMS), Stage("activity", _ACTIVITY, moves=one), Stage("again", _AGAIN)]
    if len(_kept(log, k)) == 1:
        first = [Stage("items", _ITEMS + _AGAIN)]
    return shared(replace(stage, gaussian=by_rho) for stage in (*first, *last))


def drawable(log: EventLog, k: int, price: Price) -> bool:
    """Say whether the noise of all looks can be drawn: a public question."""
    try:
        stages = looks(log, k, price)
        laws_of(stages, price)
        for each in share_out(stages, price).values():
            law_for(1, each, log.counting)
    except UsageError:
        return False
    return True


def peeling_pays(log: EventLog, k: int, released: Noisy, price: Price, *, deviation: float) -> bool:
    """Say whether to peel k places a context with noise of that deviation, as the released activity says.

    It must be small beside the people there are, and smaller than that of counts, were all items looked at.
    """
    counts = ByCounts.of(log, released, share_out(looks(log, k, price), price)["edges"])
    people = counts.people.estimated.total_users
    return people >= PEOPLE_A_ROUND * deviation * (log.width - 1) and not counts.pays(deviation)


def rank_contexts(
    log: EventLog, k: int, people: KnownPeople, grant: Grant, noise: NoiseSource, engine: Engine, level: float
) -> Counted:
    """Spend the grant on looks at fewer and fewer items, and rank what is left of them in each context."""
    grants = share_out(looks(log, k, grant.price), grant)
    kept, everything = _kept(log, k), np.arange(len(log.catalogue.ids), dtype=np.int64)
    seen = _look(log, "items", everything, people, grants["items"], noise, engine)
    items = counts_from(seen.noisy, people, seen.bound, level)
    places = _best(items, everything, kept[0])
    items, found = _of(items, places), list[float]()
    if len(kept) > 1:
        again = _people(log, "items", places, grants["activity"], noise, engine)
        seen = _look(log, "items", places, again, grants["again"], noise, engine)
        found.append(_confirmed(items.mean, seen.noisy))
        items = _together(items, counts_from(seen.noisy, again, seen.bound, level))
        inner = _best(items, np.arange(places.size), kept[1])
        items, places = _of(items, inner), places[inner]
    pairs = _people(log, "edges", places, grants["pairs"], noise, engine)
    last = _look(log, "edges", places, pairs, grants["edges"], noise, engine)
    edges = edges_from(last.noisy, items, pairs, last.bound)
    found.append(_confirmed(items.mean, last.noisy))
    told = _told(last.noisy, items.mean)
    rankings = [
        best(_of(edges, (slice(None), context)), k, places) if told[context] else Ranked([])
        for context in range(log.width - 1)
    ]
    confirmed = sum(found) > _CONFIRMED * math.sqrt(len(found))
    return Counted(rankings, last, places.size, confirmed)


def _kept(log: EventLog, k: int) -> tuple[int, ...]:
    """Return how many items each look at items leaves."""
    first, then = (min(each * k, len(log.catalogue.ids)) for each in NARROW)
    return (then,) if first == len(log.catalogue.ids) else (first, then)


def _narrowed(log: EventLog, places: Integers) -> EventLog:
    """Return the log as it would be described with some items alone, for what is public: never to be read."""
    catalogue = log.catalogue
    ids = tuple(catalogue.ids[place] for place in places.tolist())
    return replace(log, catalogue=Catalogue(ids, (None,) * len(ids), catalogue.kind))


def _people(
    log: EventLog, table: CountTable, places: Integers, grant: Grant, noise: NoiseSource, engine: Engine
) -> KnownPeople:
    """Release how active people are in a table of some items."""
    norm = norm_of(grant.price)
    released = histogram(log, table, grant, noise, engine, norm, among=Among(places))
    return people_of(_narrowed(log, places), table, released, norm)


def _look(
    log: EventLog, table: CountTable, places: Integers, people: KnownPeople, grant: Grant, noise: NoiseSource,
    engine: Engine,
) -> Look:  # fmt: skip
    """Release a table of some items, of light users and of heavy ones."""
    limit = chosen_limit(_narrowed(log, places), {table: people}, {table: grant.price})
    bound = Scale(limit, norm_of(grant.price), apart=True, among=Among(places))
    measured = getattr(engine.measure(log, bound, noise.key()), table)
    shape = measured.shape[2:]
    cells = np.arange(math.prod(measured.shape[1:])).reshape(measured.shape[1:])[places]
    noisy = noised(measured, grant, noise, cells.ravel().tolist())
    return Look(replace(noisy, values=noisy.values.reshape(2, places.size, *shape)), people, bound)


def _told(edges: Noisy, expected: Floats) -> Flags:
    """Say of which contexts something is known: not those that may as well be empty, and surely are nearly so.

    Empty is what lies within the noise, and nearly so what is surely below half of an average context. Where noise
    is too large to be sure of that, a context is taken to be like the others. Items count by the root of what is
    expected of them: those of which little is expected are little but noise, and no single one decides.
    """
    weights = np.sqrt(np.maximum(expected, 0.0))
    if not weights.any():
        weights = np.ones_like(weights)
    counts = np.tensordot(weights, edges.counts.sum(axis=0), axes=1)[:-1]
    within = _STANDS_OUT * math.sqrt(2 * float(weights @ weights) * edges.law.variance)
    half = counts.sum() / counts.size / 2
    return np.asarray(~((counts < within) & (counts + within < half)))


def _confirmed(expected: Floats, fresh: Noisy) -> float:
    """Return in deviations how far a fresh look goes with what was expected of items; by noise alone, 0 ± 1."""
    counts = fresh.counts.swapaxes(0, 1).reshape(expected.size, -1)
    centred = expected - expected.mean()
    spread = math.sqrt(float(centred @ centred) * fresh.law.variance * counts.shape[1])
    return float(centred @ counts.sum(axis=1)) / spread if spread > 0 else 0.0


def _best(counts: Posterior, places: Integers, many: int) -> Integers:
    """Return the places of the largest counts, of equal ones the first."""
    return np.asarray(places[np.argsort(-counts.mean, kind="stable")[:many]])


def _of(counts: Posterior, which: Any) -> Posterior:
    return Posterior(counts.mean[which], counts.low[which], counts.high[which])


def _together(one: Posterior, other: Posterior) -> Posterior:
    """Put two estimates of the same counts together, each by its precision, as the widths of intervals say."""
    precisions = [1 / np.maximum(each.high - each.low, 1e-9) ** 2 for each in (one, other)]
    whole = precisions[0] + precisions[1]
    mean = (precisions[0] * one.mean + precisions[1] * other.mean) / whole
    low, high = (
        1 / np.sqrt(sum(1 / np.maximum(np.abs(end - each.mean), 1e-9) ** 2 for end, each in ends))
        for ends in (((one.low, one), (other.low, other)), ((one.high, one), (other.high, other)))
    )
    return Posterior(mean, np.maximum(mean - low, 0.0), mean + high)
