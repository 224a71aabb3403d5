"""Visits: what people have, and which items belong together, from events without ratings.

First the number of people is released. Then the weight of each item, and where the log has contexts of each item
in each context: somebody with n items counts each with at most √(10 / n). With δ, products over all pairs of the
heaviest items follow, of how far a person departs in both from what is common. Their leading eigenvectors, those
that noise cannot have made, are the items' factors.

The model holds weights and factors, nothing else. What it recommends to a person is worked out from the model and
that person's own items, where these are, and is for that person's eyes: see
:mod:`headcount.methods.recommender.visit_factors`.

Why it is private
    A person is one number more or less among the people, which discrete Laplace noise of scale 1 / (0.01 ε) pays
    for. Their weights are worked out from their own items alone, and the sum of squares (with δ), or the sum
    (without), is at most 10 in items and 10 in items and contexts, cut down to whole multiples of 2^-16. What
    they add to pairs has an L2 norm of at most 1, whatever they have
    (:mod:`headcount.bounds.ratings.centered_cooccurrence`); which items are in pairs, and what is common, hang on
    released numbers alone. With δ, discrete Gaussian noise on weights, contexts and pairs is ρ₁-, ρ₂- and
    ρ₃-zero-concentrated, each knowing what was released before it, hence ρ₁ + ρ₂ + ρ₃ together, which is what
    (0.99 ε, δ) allows for; the 0.01 ε of the number of people adds up with it. Without δ there are no pairs, the
    noise is discrete Laplace, and all parts of ε add up. Which stages there are is known without data. Everything
    after is computed from released numbers.

    The promise is about the model. What a model tells a person from that person's own items is protected from all
    others as long as it is shown to nobody else (joint differential privacy).

Departures from the paper
    Its noise meets the covariance as it is. Here what is common is taken out of each person first, with what was
    released before: it weighs most, and is known already.

Reference
    C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss: Optimal Bounds for Privacy-Preserving Principal
    Component Analysis. STOC 2014.
    M. Kearns, M. Pai, A. Roth, J. Ullman. Mechanism Design in Large Games. ITCS 2014 (joint differential privacy).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Grant, Price, Priced
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import DiscreteGaussian, Law
from headcount.bounds import DEPARTURE_LENGTH as ONE
from headcount.bounds import (
    FIXED_POINT,
    UNDRAWN,
    Departures,
    Noisy,
    Raters,
    Scale,
    Sensitivity,
    departures_reach,
    sensitivity,
)
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.methods.method import ONE_ID, PUBLIC_CATALOGUE, Bounds, Staged, paid, what_counted
from headcount.methods.recommender import VISITS
from headcount.methods.recommender.tables import check_visits, item_column, standing_out
from headcount.methods.recommender.visit_factors import (
    LIMIT,
    direction_of,
    factors_of,
    shares_of,
    worthwhile_items,
)
from headcount.noise import NoiseSource, add, law_of, norm_of
from headcount.noise.stages import Stage, Stages, share_out
from headcount.releases.release import Interval, Release

ITEMS, EDGES, RELATIONS = "model/items", "model/edges", "model/factors"
LEVEL = 0.95
PEOPLE_SHARE = Decimal("0.01")
PARTS = {"items": Decimal("0.25"), "edges": Decimal("0.25"), "relations": Decimal("0.75")}
"""How the rest is shared by what there is: of ρ where there is δ, else of ε."""

OWN_ITEMS = "what the model recommends from a person's own items is shown to that person alone"


@dataclass(frozen=True, kw_only=True)
class VisitModel(Staged):
    """Fit a model of who has what.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(400) for item in (("tea", "rye") if n % 4 else ("tea", "fig"))]
    >>> log = EventLog.of(visits, items=["fig", "rye", "tea"])
    >>> made = VisitModel().release(log, Grant("8", "1e-6"), SeededNoise(1))
    >>> made.tables["model/items"]["count"].to_numpy().round(-2).tolist()
    [100.0, 300.0, 400.0]
    """

    name: ClassVar[str] = VISITS
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (Raters, Scale, Departures)

    def guarantee(self, priced: Priced) -> Guarantee:
        """Pure ε, or (ε, δ), for adding or removing a user."""
        declared = "which records count at all was chosen without looking at the log"
        assumes = (PUBLIC_CATALOGUE, declared, ONE_ID, OWN_ITEMS)
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumes)

    def check(self, log: EventLog) -> None:
        """Refuse ratings, and what a model of who has what cannot use."""
        check_visits(log)

    def stages(self, log: EventLog, price: Price) -> Stages:
        """A little for the number of people; the rest for weights and, with δ, for pairs of two items or more."""
        bells = bool(price.delta)
        weights = sensitivity(Scale(LIMIT), "users")
        there: dict[str, tuple[str, Sensitivity, int]] = {"items": (ITEMS, weights, FIXED_POINT)}
        if log.context is not None:
            there["edges"] = (EDGES, weights, FIXED_POINT)
        if bells and len(log.catalogue.ids) >= 2:
            there["relations"] = (RELATIONS, departures_reach(1), ONE)
        people = Stage("people", PEOPLE_SHARE, moves=Sensitivity.of_l1(1), tells=("people",))
        whole, left = sum(PARTS[name] for name in there), 1 - PEOPLE_SHARE
        shares = {name: (left * PARTS[name] / whole).quantize(Decimal("1e-6")) for name in there}
        shares["items"] += left - sum(shares.values())
        return people, *(
            Stage(name, shares[name], gaussian=bells, moves=moves, unit=unit, tells=(table,))
            for name, (table, moves, unit) in there.items()
        )

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release the number of people, the weights of items and, with δ, products over pairs of items."""
        self.check(log)
        guarantee, story = self.guarantee(grant), paid(grant)
        norm, parts = norm_of(grant.price), share_out(self.stages(log, grant.price), grant)
        log, engine = replace(log, counting="users"), engine or LocalEngine()
        people = add(engine.measure(log, Raters(), UNDRAWN), parts["people"], noise)
        counted = engine.measure(log, Scale(LIMIT, norm), noise.key())
        weights = add(counted.items, parts["items"], noise)
        made = _Made(float(people.counts[0]), weights)
        laws: dict[str, Law] = {"people": people.law, ITEMS: weights.law}
        if "edges" in parts:
            edges = add(counted.edges, parts["edges"], noise)
            made, laws[EDGES] = replace(made, edges=edges), edges.law
        if "relations" in parts:
            law = law_of(departures_reach(1), parts["relations"].price, unit=ONE)
            bound = made.departures(law.variance**0.5)
            pairs = add(engine.measure(log, bound, UNDRAWN), parts["relations"], noise)
            made, laws[RELATIONS] = made.related(bound, pairs), pairs.law
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=laws,
            tables=made.tables(log),
            contexts=None if log.context is None else log.context.labels,
            context_name=None if log.context is None else log.context.name,
            interval=Interval(level=LEVEL),
            counts="users",
            bounded="everything each person has, weighed down",
            chosen={"model": made.chosen()},
            steps=(*what_counted(log), *_story(log, laws, made, story)),
            catalogue=log.catalogue.digest,
            simulated=not noise.is_private,
        )


@dataclass(frozen=True)
class _Made:
    """The model: the number of people, the weights of all items, those in contexts, and factors of some items."""

    people: float
    weights: Noisy
    edges: Noisy | None = None
    places: Integers | None = None
    factors: Floats | None = None

    def departures(self, deviation: float) -> Departures:
        """Say of which items pairs are measured, and what is common to them: by what was released."""
        weights = self.weights.counts
        items = worthwhile_items(self.people, deviation, weights.size)
        places = np.sort(np.argsort(-weights, kind="stable")[:items]).astype(np.int64)
        return Departures(places, direction_of(weights[places]))

    def related(self, bound: Departures, pairs: Noisy) -> _Made:
        """Take in the products over pairs: what stands out of their noise."""
        shares = shares_of(self.weights.counts, self.people)[bound.items]
        found = factors_of(pairs.counts, pairs.law.variance**0.5, bound.common, shares, self.people)
        return replace(self, places=bound.items, factors=found)

    def chosen(self) -> dict[str, float]:
        """Say what was decided from released numbers."""
        items, factors = (0, 0) if self.factors is None else self.factors.shape
        return {"people": self.people, "items": items, "factors": factors}

    def tables(self, log: EventLog) -> dict[str, pa.Table]:
        """Return the model as tables."""
        ids, labels = item_column(log)
        tables = {ITEMS: pa.table({"item": ids, "label": labels, **_numbers(self.weights)})}
        if self.edges is not None and log.context is not None:
            width = log.width
            contexts = pa.array([*log.context.labels, None], pa.string())
            named = {
                "item": ids.take(pa.array(np.repeat(np.arange(len(ids)), width))),
                "context": contexts.take(pa.array(np.tile(np.arange(width), len(ids)))),
            }
            tables[EDGES] = pa.table({**named, **_numbers(self.edges)})
        if self.places is not None and self.factors is not None:
            lists = pa.array(list(self.factors), pa.list_(pa.float64()))
            tables[RELATIONS] = pa.table({"item": ids.take(pa.array(self.places)), "factors": lists})
        return tables


def _numbers(noisy: Noisy) -> dict[str, Floats]:
    """Return the released numbers in one column, with what noise leaves open."""
    counts, width = noisy.counts.ravel(), noisy.law.half_width(LEVEL)
    return {"count": counts, "low": counts - width, "high": counts + width}


def _story(log: EventLog, laws: Mapping[str, Law], made: _Made, price: str) -> list[str]:
    part = "the sum of squares" if isinstance(laws[ITEMS], DiscreteGaussian) else "the sum"
    told = [
        f"The number of people got {laws['people'].in_words()}.",
        "Every person counted once per item, with a weight that keeps what they add short: "
        f"{part} is at most {LIMIT}. Every item got {laws[ITEMS].in_words()}.",
    ]
    if log.context is not None:
        told.append(
            f"So it was with items by {log.context.name}: each got {laws[EDGES].in_words()}, and of every person "
            f"{part} is at most {LIMIT}."
        )
    if made.factors is None:
        told.append("Which items belong together was not measured: that takes δ, and two items.")
    else:
        told.append(
            f"For all pairs of the {made.factors.shape[0]:,} heaviest items, products of how far a person departs "
            "from what is common were added up, of every person with a length of at most 1, with "
            f"{laws[RELATIONS].in_words()}. {standing_out(made.factors.shape[1])}"
        )
    return [*told, f"All was paid with {price} together."]
