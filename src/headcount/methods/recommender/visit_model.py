"""The visit model: item frequencies and centred co-occurrence from events without ratings.

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
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, NoiseDistribution
from headcount.bounds import FIXED_POINT, NO_SECRET, Noisy, Sensitivity, WeightToThreshold
from headcount.bounds.ratings.centered_cooccurrence import (
    COOCCURRENCE_NORM,
    CenteredCooccurrence,
    centered_cooccurrence_sensitivity,
)
from headcount.bounds.ratings.rating_bound import Raters
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.method import Bounds, describe_cost
from headcount.methods.recommender import VISITS
from headcount.methods.recommender.recommender_method import (
    NoisyModel,
    RecommenderMethod,
    check_visits,
    describe_factors,
    factor_table,
    interval_columns,
    item_column,
    largest,
)
from headcount.methods.recommender.visit_factors import (
    LIMIT,
    common_direction,
    factors_of,
    item_shares,
    worthwhile_items,
)
from headcount.noise import NoiseSource, add_noise, noise_distribution_for, noise_norm
from headcount.noise.stages import Stage, Stages, split_among_stages

ITEMS, EDGES, RELATIONS = "model/items", "model/edges", "model/factors"
PEOPLE_SHARE = Decimal("0.01")
PARTS = {"items": Decimal("0.25"), "edges": Decimal("0.25"), "relations": Decimal("0.75")}
"""How the rest is shared by what there is: of ρ where there is δ, else of ε."""

OWN_ITEMS = "what the model recommends from a person's own items is shown to that person alone"


@dataclass(frozen=True, kw_only=True)
class VisitModel(RecommenderMethod):
    """Fit a model of who has what.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(400) for item in (("tea", "rye") if n % 4 else ("tea", "fig"))]
    >>> log = EventLog.of(visits, items=["fig", "rye", "tea"])
    >>> release = VisitModel().release(log, Grant("8", "1e-6"), SeededNoise(1))
    >>> release.tables["model/items"]["count"].to_numpy().round(-2).tolist()
    [100.0, 300.0, 400.0]
    """

    name: ClassVar[str] = VISITS
    assumptions: ClassVar[tuple[str, ...]] = ("which records count at all was chosen without looking at the log",)
    shown_to: ClassVar[tuple[str, ...]] = (OWN_ITEMS,)
    bounds: ClassVar[Bounds] = (Raters, WeightToThreshold, CenteredCooccurrence)

    def check(self, log: EventLog) -> None:
        """Refuse ratings, and what a model of who has what cannot use."""
        check_visits(log)

    def stages(self, log: EventLog, price: Cost) -> Stages:
        """A little for the number of people; the rest for weights and, with δ, for pairs of two items or more."""
        gaussian = bool(price.delta)
        weights = WeightToThreshold(LIMIT).sensitivity("users")
        there: dict[str, tuple[str, Sensitivity, int]] = {"items": (ITEMS, weights, FIXED_POINT)}
        if log.context is not None:
            there["edges"] = (EDGES, weights, FIXED_POINT)
        if gaussian and len(log.catalogue.ids) >= 2:
            there["relations"] = (RELATIONS, centered_cooccurrence_sensitivity(1), COOCCURRENCE_NORM)
        user_count = Stage("people", PEOPLE_SHARE, sensitivity=Sensitivity.of_l1(1), tells=("people",))
        whole, left = sum(PARTS[name] for name in there), 1 - PEOPLE_SHARE
        shares = {name: (left * PARTS[name] / whole).quantize(Decimal("1e-6")) for name in there}
        shares["items"] += left - sum(shares.values())
        return user_count, *(
            Stage(name, shares[name], gaussian=gaussian, sensitivity=moves, unit=unit, tells=(table,))
            for name, (table, moves, unit) in there.items()
        )

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyModel:
        """Measure users, the weights of items and, with δ, products over pairs of items."""
        norm, parts = noise_norm(grant.cost), split_among_stages(self.stages(log, grant.cost), grant)
        log = replace(log, counting="users")
        user_count = add_noise(engine.measure(log, Raters(), NO_SECRET), parts["people"], noise)
        counted = engine.measure(log, WeightToThreshold(LIMIT, norm), noise.key())
        weights = add_noise(counted.items, parts["items"], noise)
        model = _FittedModel(float(user_count.counts[0]), weights)
        distributions = {"people": user_count.distribution, ITEMS: weights.distribution}
        if "edges" in parts:
            item_contexts = add_noise(counted.edges, parts["edges"], noise)
            model, distributions[EDGES] = replace(model, item_contexts=item_contexts), item_contexts.distribution
        if "relations" in parts:
            cost = parts["relations"].cost
            predicted = noise_distribution_for(centered_cooccurrence_sensitivity(1), cost, unit=COOCCURRENCE_NORM)
            bound = model.pairs_bound(predicted.variance**0.5)
            pairs = add_noise(engine.measure(log, bound, NO_SECRET), parts["relations"], noise)
            model, distributions[RELATIONS] = model.with_factors(bound, pairs), pairs.distribution
        items, factors = (0, 0) if model.factors is None else model.factors.shape
        return NoisyModel(
            tables=model.tables(log),
            noise_distributions=distributions,
            chosen={"people": model.users, "items": items, "factors": factors},
            bound_text="everything each person has, weighed down",
            steps=_describe_steps(log, distributions, model, describe_cost(grant)),
        )


@dataclass(frozen=True)
class _FittedModel:
    """The model: the number of users, weights of items, also by context, and factors of some items."""

    users: float
    weights: Noisy
    item_contexts: Noisy | None = None
    places: Integers | None = None
    factors: Floats | None = None

    def pairs_bound(self, deviation: float) -> CenteredCooccurrence:
        """Return the bound for pairs of the heaviest items, centred on their released weights."""
        weights = self.weights.counts
        places = largest(weights, worthwhile_items(self.users, deviation, weights.size))
        return CenteredCooccurrence(places, common_direction(weights[places]))

    def with_factors(self, bound: CenteredCooccurrence, pairs: Noisy) -> _FittedModel:
        """Return the model with the factors that noisy products over pairs have above their noise."""
        shares = item_shares(self.weights.counts, self.users)[bound.items]
        factors = factors_of(pairs.counts, pairs.distribution.variance**0.5, bound.common, shares, self.users)
        return replace(self, places=bound.items, factors=factors)

    def tables(self, log: EventLog) -> dict[str, pa.Table]:
        """Return the model as tables."""
        ids, labels = item_column(log)
        tables = {ITEMS: pa.table({"item": ids, "label": labels, **interval_columns(self.weights)})}
        if self.item_contexts is not None and log.context is not None:
            width = log.width
            contexts = pa.array([*log.context.labels, None], pa.string())
            keys = {
                "item": ids.take(pa.array(np.repeat(np.arange(len(ids)), width))),
                "context": contexts.take(pa.array(np.tile(np.arange(width), len(ids)))),
            }
            tables[EDGES] = pa.table({**keys, **interval_columns(self.item_contexts)})
        if self.places is not None and self.factors is not None:
            tables[RELATIONS] = factor_table(ids, self.places, self.factors)
        return tables


def _describe_steps(
    log: EventLog, laws: Mapping[str, NoiseDistribution], fitted: _FittedModel, price: str
) -> list[str]:
    part = "the sum of squares" if isinstance(laws[ITEMS], DiscreteGaussian) else "the sum"
    sentences = [
        f"The number of people got {laws['people'].in_words()}.",
        "Every person counted once per item, with a weight that keeps what they add short: "
        f"{part} is at most {LIMIT}. Every item got {laws[ITEMS].in_words()}.",
    ]
    if log.context is not None:
        sentences.append(
            f"So it was with items by {log.context.name}: each got {laws[EDGES].in_words()}, and of every person "
            f"{part} is at most {LIMIT}."
        )
    if fitted.factors is None:
        sentences.append("Which items belong together was not measured: that takes δ, and two items.")
    else:
        sentences.append(
            f"For all pairs of the {fitted.factors.shape[0]:,} heaviest items, products of how far a person "
            "departs from what is common were added up, of every person with a length of at most 1, with "
            f"{laws[RELATIONS].in_words()}. {describe_factors(fitted.factors.shape[1])}"
        )
    return [*sentences, f"All was paid with {price} together."]
