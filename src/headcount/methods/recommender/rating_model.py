"""The rating model: item offsets and item covariances from clipped sums with noise.

Up to four stages. First the number of people is released. Then, for each item, the sum of how far its ratings lie
from the means of those who gave them, and the number of its ratings; from both follow the items' offsets. If the
number of people says that it pays, sums over all pairs of the most rated items are released as well: products of
how far a person's ratings of both lie from what is expected. Their leading eigenvectors are the items' factors. If
there is δ, and people enough for that as well, factors are fitted anew, of more items: each person's taste is
worked out from these factors and the person's own ratings, and what tastes say of each item is added up over all
people. That is one round of alternating least squares; a second one costs as much as it brings.

The model holds offsets and factors, nothing else. Predictions for a person are made from the model and that
person's own ratings, where these are, and are for that person's eyes: see
:mod:`headcount.methods.recommender.rating_prediction`.

Why it is private
    A person is one number more or less among the people. What their ratings add to the sums over items and over
    pairs is worked out from these ratings, public constants and, for the pairs, released offsets; its L2 norm is
    at most 7 stars, and 7 stars² for the pairs, cut toward zero to whole units, so that rounding never adds to it.
    What their taste adds has an L2 norm of at most 1, by :mod:`headcount.bounds.ratings.factor_gradients`, and is
    worked out from these ratings, public constants, and released offsets and factors. With δ, discrete Gaussian
    noise on each is ρ₁-, ρ₂- and ρ₃-zero-concentrated, every stage knowing what those before released, hence ρ₁ +
    ρ₂ + ρ₃ together, which is what (0.98 ε, δ) allows for; 0.02 ε of discrete Laplace noise on the number of
    people adds up with it. Without δ the norms are L1, of 20 stars and 10 stars², the noise is discrete Laplace,
    nothing is fitted anew, and all parts of ε add up. Which stages there are, and what each gets, hangs on the
    released number of people and on public numbers; which items are in pairs and which are fitted
    anew, on released numbers. If no factor
    stood out of the noise, nothing is fitted anew, and that part is left. Everything after is computed from
    released numbers.

    The promise is about the model. What a model tells a person about that person's own ratings is protected from
    all others as long as it is shown to nobody else (joint differential privacy).

Departures from the paper
    In place of noisy similarities and a private choice of neighbours, which cost ε for every prediction and whose
    noise followed the data, sums are released once, and predictions are free.

Reference
    F. McSherry, I. Mironov. Differentially Private Recommender Systems. KDD 2009.
    S. Chien, P. Jain, W. Krichene, S. Rendle, S. Song, A. Thakurta, L. Zhang. Private Alternating Least Squares:
    Practical Private Matrix Completion with Tighter Rates. ICML 2021.
    M. Kearns, M. Pai, A. Roth, J. Ullman. Mechanism Design in Large Games. ITCS 2014 (joint differential privacy).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import FIXED_POINT, NO_SECRET, Norm, Sensitivity
from headcount.bounds.ratings.factor_gradients import GRADIENT_NORM, MAX_FACTOR, FactorGradients
from headcount.bounds.ratings.rating_bound import MAX_ITEMS, UNITS_PER_STAR, Raters
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.ratings.rating_offsets import RatingOffsets
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.method import OMITTED_BY_DEFAULT, Bounds, describe_cost
from headcount.methods.recommender.rating_prediction import (
    FEWEST_ITEMS,
    MAX_NOISE_SHARE,
    MAX_NOISE_SHARE_TO_REFINE,
    factors_of,
    offsets_of,
    refit_factors,
    worthwhile_items,
)
from headcount.methods.recommender.recommender_method import (
    NoisyModel,
    RecommenderMethod,
    check_ratings,
    describe_factors,
    factor_table,
    item_column,
    largest,
)
from headcount.noise import NoiseSource, add_noise, noise_norm
from headcount.noise.stages import Stage, Stages, noise_distributions_of, split_among_stages

PEOPLE_SHARE = Decimal("0.02")
LIKINGS_SHARE = Decimal("0.3")
"""What fitting factors anew gets of ρ, where it pays."""

RELATIONS_SHARES = {200: Decimal("0.4"), FEWEST_ITEMS: Decimal("0.2")}
"""What relations get of the rest, of ρ with δ, else of ε: the first share that so many items are worth."""

OFFSETS_LENGTH: Mapping[Norm, int] = {"l2": 7, "l1": 20}
PAIRS_LENGTH: Mapping[Norm, int] = {"l2": 7, "l1": 10}
STRENGTH: Mapping[Norm, float] = {"l2": 1.0, "l1": 0.1}
"""How strong relations remain when a person's pairs are made short, as a part of what is left with L2."""

OWN_RATINGS = "what the model predicts from a person's own ratings is shown to that person alone"
OFFSETS, RELATIONS, LIKINGS = "model/items", "model/factors", "likings"


@dataclass(frozen=True, kw_only=True)
class RatingModel(RecommenderMethod):
    """Fit a model of ratings; ``relations`` says whether pairs of items are released, None where it pays.

    ``refine`` says the same of fitting factors anew, which takes relations, and δ.

    >>> from headcount.noise import SeededNoise
    >>> stars = [(f"u{n}", item, 5 if item == "tea" else 2) for n in range(400) for item in ("tea", "rye")]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> release = RatingModel().release(log, Grant("4", "1e-6"), SeededNoise(1))
    >>> [round(offset, 1) for offset in release.tables["model/items"]["offset"].to_pylist()]
    [-1.6, 1.5]
    """

    name: ClassVar[str] = "private"
    assumptions: ClassVar[tuple[str, ...]] = (
        "the range of values and which records count at all were chosen without looking at the log",
    )
    shown_to: ClassVar[tuple[str, ...]] = (OWN_RATINGS,)
    counts: ClassVar[str] = "ratings"
    bounds: ClassVar[Bounds] = (Raters, RatingOffsets, RatingCovariance, FactorGradients)

    relations: bool | None = None
    refine: bool | None = field(default=None, metadata=OMITTED_BY_DEFAULT)

    def __post_init__(self) -> None:
        for name, given in (("relations", self.relations), ("refine", self.refine)):
            if given not in (None, True, False):
                raise UsageError(f"{name} must be true or false", given=given, remedy="or leave it out")
        if self.refine and self.relations is False:
            raise UsageError("refine needs relations", given="relations=false", remedy="leave one of them out")

    def check(self, log: EventLog) -> None:
        """Refuse a log without ratings, and what a model of them cannot use."""
        check_ratings(log)

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """A little for the number of people; the rest, and all of δ, for the model.

        The number of people decides on relations; where they are not ruled out, noise is not known before.
        """
        if self.refine and not price.delta:
            raise UsageError(
                "refine needs δ", given="no delta", remedy=f"give {param.delta('1e-6')}, or leave refine out"
            )
        least = min(RELATIONS_SHARES.values()) if self.relations else Decimal(0)
        parts = _model(noise_norm(price), least)
        if self.relations is not False:
            parts = tuple(replace(part, tells=()) for part in parts)
        user_count = Stage("people", PEOPLE_SHARE, sensitivity=Sensitivity.of_l1(1), tells=("people",))
        return user_count, Stage("model", 1 - PEOPLE_SHARE, gaussian=bool(price.delta), parts=parts)

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyModel:
        """Measure users, sums over items and, if that pays, over pairs of items and user factors."""
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        norm = noise_norm(grant.cost)
        user_count = add_noise(engine.measure(log, Raters(), NO_SECRET), grants["people"], noise)
        users = float(user_count.counts[0])
        items, stages = self._planned(users, log, grants["model"].cost)
        parts = split_among_stages(stages, grants["model"])
        noisy = add_noise(
            engine.measure(log, RatingOffsets(OFFSETS_LENGTH[norm], norm), NO_SECRET), parts["offsets"], noise
        )
        offsets, support = offsets_of(noisy.counts[0], noisy.counts[1], noisy.distribution.variance**0.5)
        units = np.rint(offsets * UNITS_PER_STAR).astype(np.int64)
        model = _FittedModel(units / UNITS_PER_STAR, support)
        distributions = {"people": user_count.distribution, OFFSETS: noisy.distribution}
        if items:
            places = largest(support, items)
            covariance = RatingCovariance(PAIRS_LENGTH[norm], norm, places, units)
            pairs = add_noise(engine.measure(log, covariance, NO_SECRET), parts["relations"], noise)
            distributions[RELATIONS] = pairs.distribution
            factors = factors_of(pairs.counts, pairs.distribution.variance**0.5, support[places], users)
            if LIKINGS in parts and factors.size:
                gradients = _factor_gradients(support, places, factors, units)
                sums = add_noise(engine.measure(log, gradients, NO_SECRET), parts[LIKINGS], noise)
                distributions[LIKINGS] = sums.distribution
                places = gradients.items
                factors = refit_factors(sums.counts, sums.distribution.variance**0.5, support[places], factors)
            elif LIKINGS in parts:
                parts[LIKINGS].forgo()  # users have no factors without those of items
            model = replace(model, places=places, factors=factors)
        chosen = {"people": users, "items": items, "factors": model.depth, "refined": LIKINGS in distributions}
        return NoisyModel(
            tables=model.tables(log),
            noise_distributions=distributions,
            chosen=chosen,
            bound_text="everything each person rated, shortened",
            steps=_describe_steps(log, distributions, grants, model, items),
        )

    def _planned(self, people: float, log: EventLog, price: Cost) -> tuple[int, Stages]:
        """Say among how many items relations are released, and which stages follow, from released numbers.

        None are where they do not pay, or are not asked for.
        """
        catalogue, norm = len(log.catalogue.ids), noise_norm(price)
        if self.relations is False or catalogue < 2:
            return 0, _model(norm)
        anew = () if self.refine is False or not price.delta else ((LIKINGS_SHARE, MAX_NOISE_SHARE_TO_REFINE),)
        for likings, pays in (*anew, (Decimal(0), MAX_NOISE_SHARE)):
            for enough, share in RELATIONS_SHARES.items():
                stages = _model(norm, share, likings)
                try:
                    deviation = noise_distributions_of(stages, price)[RELATIONS].variance ** 0.5
                except UsageError:  # that noise cannot be drawn, as is known without data
                    continue
                items = worthwhile_items(people, deviation, STRENGTH[norm], catalogue, pays)
                if items >= enough:
                    return items, stages
        if not self.relations:
            return 0, _model(norm)
        likings = LIKINGS_SHARE if self.refine else Decimal(0)
        return min(FEWEST_ITEMS, catalogue), _model(norm, min(RELATIONS_SHARES.values()), likings)


@dataclass(frozen=True)
class _FittedModel:
    """The model: offsets and support of all items, and factors of some."""

    offsets: Floats
    support: Floats
    places: Integers | None = None
    factors: Floats | None = None

    @property
    def depth(self) -> int:
        """The number of factors of each item."""
        return 0 if self.factors is None or not self.factors.size else self.factors.shape[1]

    def tables(self, log: EventLog) -> dict[str, pa.Table]:
        """Return the model as tables."""
        ids, labels = item_column(log)
        columns = {"item": ids, "label": labels, "offset": self.offsets, "support": self.support}
        tables = {OFFSETS: pa.table(columns)}
        if self.places is not None and self.factors is not None:
            tables[RELATIONS] = factor_table(ids, self.places, self.factors)
        return tables


def _factor_gradients(support: Floats, places: Integers, factors: Floats, offsets: Integers) -> FactorGradients:
    """Return the bound for the gradients of the most rated items, at the factors released so far."""
    items = largest(support, MAX_ITEMS)
    scaled_factors = np.zeros((support.size, factors.shape[1]), dtype=np.int64)
    scaled_factors[places] = np.clip(np.rint(factors * UNITS_PER_STAR), -MAX_FACTOR, MAX_FACTOR)
    return FactorGradients(items, scaled_factors[items], offsets)


def _model(norm: Norm, relations: Decimal = Decimal(0), likings: Decimal = Decimal(0)) -> Stages:
    """Return the stages of the model, which share ρ with δ, else ε; relations get a share of the rest."""
    rest = 1 - likings
    measured = (
        ("offsets", rest * (1 - relations), OFFSETS_LENGTH[norm] * UNITS_PER_STAR, UNITS_PER_STAR, OFFSETS),
        ("relations", rest * relations, PAIRS_LENGTH[norm] * FIXED_POINT, FIXED_POINT, RELATIONS),
        (LIKINGS, likings, GRADIENT_NORM, GRADIENT_NORM, LIKINGS),
    )
    return tuple(
        Stage(name, share, norm == "l2", Sensitivity.of_l1(moved), unit, tells=(tells,))
        for name, share, moved, unit, tells in measured
        if share
    )


def _describe_steps(
    log: EventLog,
    laws: Mapping[str, NoiseDistribution],
    grants: Mapping[str, Grant],
    fitted: _FittedModel,
    items: int,
) -> list[str]:
    low, high = log.value_range or (0, 0)
    model, squares = grants["model"], bool(grants["model"].delta)
    length = "sum of squares" if squares else "sum"
    norm = noise_norm(model.cost)
    most = OFFSETS_LENGTH[norm] ** (2 if squares else 1)
    sentences = [
        f"The number of people got {laws['people'].in_words()}, paid with {describe_cost(grants['people'])}.",
        f"Ratings in column {log.roles.value!r} were cut to lie between {low} and {high}, and stretched to 1 to 5 "
        "stars; where a person rated an item more than once, the mean counted.",
        "For each item it was added up how far its ratings lie from their people's own means, and how many there "
        f"are. Of every person both were made smaller until their {length} was at most {most:,}, and every sum, "
        f"zeros included, got {laws[OFFSETS].in_words()}.",
    ]
    if fitted.factors is None:
        sentences.append(
            "The number of people said that relations between items would drown in noise: none released."
        )
    else:
        sentences.append(
            f"For all pairs of the {items:,} most rated items, products of how far a person's "
            "ratings lie from what is expected were added up, made smaller in the same way, with "
            f"{laws[RELATIONS].in_words()}. {describe_factors(fitted.depth)}"
        )
    if LIKINGS in laws and fitted.factors is not None:
        sentences.append(
            "From these and a person's own ratings that person's taste was worked out. What it says of each item "
            "they rated was added up, made smaller until the sum of squares was at most 1, with "
            f"{laws[LIKINGS].in_words()}. To that the numbers of {len(fitted.factors):,} items were fitted anew."
        )
    sentences.append(f"Sums over items and pairs were paid with {describe_cost(model)} together.")
    return sentences
