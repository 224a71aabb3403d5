"""Private neighbours: what items are worth, and which belong together, from sums that no one person moves far.

Three stages. First the number of people is released. Then, for each item, the sum of how far its ratings lie from
the means of those who gave them, and the number of its ratings; from both follow the items' offsets. If the number
of people says that it pays, sums over all pairs of the most rated items are released as well: products of how far
a person's ratings of both lie from what is expected. Their leading eigenvectors are the items' factors.

The model holds offsets and factors, nothing else. Predictions for a person are made from the model and that
person's own ratings, where these are, and are for that person's eyes: see :mod:`headcount.answers.tastes`.

Why it is private
    A person is one number more or less among the people. What their ratings add to the sums over items and over
    pairs is worked out from these ratings, public constants and, for the pairs, released offsets; its L2 norm is
    at most 7 stars, and 7 stars² for the pairs, cut toward zero to whole units, so that rounding never adds to it.
    With δ, discrete Gaussian noise on both is ρ₁- and ρ₂-zero-concentrated, the second stage knowing what the
    first released, hence ρ₁ + ρ₂ together, which is what (0.98 ε, δ) allows for; 0.02 ε of discrete Laplace noise
    on the number of people adds up with it. Without δ the norms are L1, of 20 stars and 10 stars², the noise is
    discrete Laplace, and all parts of ε add up. Which items are in pairs, and whether there are any, hangs on
    released numbers alone. Everything after is computed from released numbers.

    The promise is about the model. What a model tells a person about that person's own ratings is protected from
    all others as long as it is shown to nobody else (joint differential privacy).

Departures from the paper
    In place of noisy similarities and a private choice of neighbours, which cost ε for every prediction and whose
    noise followed the data, sums are released once, and predictions are free.

Reference
    F. McSherry, I. Mironov. Differentially Private Recommender Systems. KDD 2009.
    M. Kearns, M. Pai, A. Roth, J. Ullman. Mechanism Design in Large Games. ITCS 2014 (joint differential privacy).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.answers.tastes import FEWEST_ITEMS, factors_of, offsets_of, worthwhile_items
from headcount.bounding import FIXED_POINT, STAR, Bounded, Noisy, Norm, OffsetBound, PairBound
from headcount.budget import Grant
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.method import ONE_ID, PUBLIC_CATALOGUE, paid, what_counted
from headcount.neighbours.tables import check_ratings, item_column, rating_engine
from headcount.noise import NoiseSource, add, add_gaussian, scale_for, sigma_for
from headcount.noise_law import DiscreteGaussian, DiscreteLaplace, Law
from headcount.releases import Interval, Release

PEOPLE_SHARE = Decimal("0.02")
RELATIONS_SHARES = {200: Decimal("0.4"), FEWEST_ITEMS: Decimal("0.2")}
"""What relations get of the rest, of ρ with δ, else of ε: the first share that so many items are worth."""

OFFSETS_LENGTH: Mapping[Norm, int] = {"l2": 7, "l1": 20}
PAIRS_LENGTH: Mapping[Norm, int] = {"l2": 7, "l1": 10}
STRENGTH: Mapping[Norm, float] = {"l2": 1.0, "l1": 0.1}
"""How strong relations remain when a person's pairs are made short, as a part of what is left with L2."""

OWN_RATINGS = "what the model predicts from a person's own ratings is shown to that person alone"
OFFSETS, RELATIONS = "model/items", "model/factors"


@dataclass(frozen=True, kw_only=True)
class PrivateNeighbours:
    """Fit a model of ratings; ``relations`` says whether pairs of items are released, None where it pays.

    >>> from headcount.noise import SeededNoise
    >>> stars = [(f"u{n}", item, 5 if item == "tea" else 2) for n in range(400) for item in ("tea", "rye")]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> made = PrivateNeighbours().release(log, Grant("4", "1e-6"), SeededNoise(1))
    >>> [round(each, 1) for each in made.tables["model/items"]["offset"].to_pylist()]
    [-1.6, 1.5]
    """

    name: ClassVar[str] = "private"
    family: ClassVar[str] = "neighbours"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None

    relations: bool | None = None

    def __post_init__(self) -> None:
        if self.relations not in (None, True, False):
            raise UsageError("relations must be true or false", given=self.relations, remedy="or leave it out")

    def guarantee(self, grant: Grant) -> Guarantee:
        """Pure ε, or (ε, δ), for adding or removing a user."""
        declared = "the range of values and which records count at all were chosen without looking at the log"
        assumes = (PUBLIC_CATALOGUE, declared, ONE_ID, OWN_RATINGS)
        return Guarantee(epsilon=grant.epsilon, delta=grant.delta, assumes=assumes)

    def stages(self, log: EventLog, grant: Grant) -> dict[str, Grant]:  # noqa: ARG002
        """Split a grant: a little for the number of people; the rest, and all of δ, for the model."""
        shares = {"people": PEOPLE_SHARE, "model": 1 - PEOPLE_SHARE}
        return grant.split(shares, {"model": Decimal(1)} if grant.delta else None)

    def check_engine(self, engine: Engine) -> None:
        """Refuse an engine that cannot add up ratings."""
        rating_engine(engine)

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:
        """Return the noise of the number of people, and of the sums where it is known; refuse what cannot be."""
        check_ratings(log, needs_value=True)
        parts = self.stages(log, Grant(grant.epsilon, grant.delta or None))
        laws: dict[str, Law] = {"people": DiscreteLaplace(scale_for(1, parts["people"].exact))}
        least = min(RELATIONS_SHARES.values()) if self.relations else Decimal(0)
        known = _laws(parts["model"], least)
        if self.relations is False:
            laws[OFFSETS] = known[OFFSETS]
        return laws

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release the number of people, the sums over items and, if that pays, over pairs of items."""
        check_ratings(log, needs_value=True)
        guarantee, grants = self.guarantee(grant), self.stages(log, grant)
        engine = engine or LocalEngine()
        ratings, norm = rating_engine(engine), _norm(grant)
        people = add(engine.totals(log, 1, None).users, grants["people"], noise)
        items, share = self._relations(float(people.counts[0]), log, grants["model"])
        parts = _split(grants["model"], share)
        noisy = _noised(ratings.offsets(log, OffsetBound(OFFSETS_LENGTH[norm], norm)), parts["offsets"], noise)
        offsets, support = offsets_of(noisy.counts[0], noisy.counts[1], noisy.law.variance**0.5)
        offsets = np.rint(offsets * STAR) / STAR
        made = _Made(offsets, support)
        laws: dict[str, Law] = {"people": people.law, OFFSETS: noisy.law}
        if items:
            places = np.sort(np.argsort(-support, kind="stable")[:items]).astype(np.int64)
            units = np.rint(offsets * STAR).astype(np.int64)
            bound = PairBound(PAIRS_LENGTH[norm], norm, places, units)
            pairs = _noised(ratings.pairs(log, bound), parts["relations"], noise)
            made = _Made(offsets, support, places, _factors(pairs, support[places], float(people.counts[0])))
            laws[RELATIONS] = pairs.law
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=laws,
            tables=made.tables(log),
            interval=Interval(),
            counts="ratings",
            bounded="everything each person rated, shortened",
            chosen={"model": {"people": float(people.counts[0]), "items": items, "factors": made.depth}},
            steps=(*what_counted(log), *_story(log, laws, grants, made)),
            catalogue=log.catalogue.digest,
            simulated=not noise.is_private,
        )

    def _relations(self, people: float, log: EventLog, grant: Grant) -> tuple[int, Decimal]:
        """Say among how many items relations are released, and with which share: from released and public numbers.

        None are where they do not pay, or are not asked for.
        """
        catalogue, norm = len(log.catalogue.ids), _norm(grant)
        if self.relations is False or catalogue < 2:
            return 0, Decimal(0)
        for enough, share in RELATIONS_SHARES.items():
            try:
                deviation = _laws(grant, share)[RELATIONS].variance ** 0.5
            except UsageError:  # that noise cannot be drawn, as is known without data
                continue
            items = worthwhile_items(people, deviation, STRENGTH[norm], catalogue)
            if items >= enough:
                return items, share
        least = min(RELATIONS_SHARES.values())
        return (min(FEWEST_ITEMS, catalogue), least) if self.relations else (0, Decimal(0))


@dataclass(frozen=True)
class _Made:
    """The model: offsets and support of all items, and factors of some."""

    offsets: NDArray[np.float64]
    support: NDArray[np.float64]
    places: NDArray[np.int64] | None = None
    factors: NDArray[np.float64] | None = None

    @property
    def depth(self) -> int:
        """How many factors each item has."""
        return 0 if self.factors is None else self.factors.shape[1]

    def tables(self, log: EventLog) -> dict[str, pa.Table]:
        """Return the model as tables."""
        ids, labels = item_column(log)
        columns = {"item": ids, "label": labels, "offset": self.offsets, "support": self.support}
        tables = {OFFSETS: pa.table(columns)}
        if self.factors is not None:
            tables[RELATIONS] = pa.table(
                {"item": ids.take(pa.array(self.places)), "factors": pa.array(list(self.factors))}
            )
        return tables


def _norm(grant: Grant) -> Norm:
    return "l2" if grant.delta else "l1"


def _split(grant: Grant, share: Decimal) -> dict[str, Grant]:
    """Give a share of what the model gets to relations: of ρ where there is δ, else of ε."""
    if not share:
        return {"offsets": grant}
    shares = {"offsets": 1 - share, "relations": share}
    return grant.split_rho(shares) if grant.delta else grant.split(shares)


def _laws(grant: Grant, share: Decimal) -> dict[str, Law]:
    """Return the noise of offsets and of relations, if these get a share; refuse what cannot be drawn."""
    parts = _split(Grant(grant.epsilon, grant.delta or None), share)
    laws = {OFFSETS: _law(OFFSETS_LENGTH, parts["offsets"], STAR)}
    return laws | ({RELATIONS: _law(PAIRS_LENGTH, parts["relations"], FIXED_POINT)} if share else {})


def _law(lengths: Mapping[Norm, int], grant: Grant, unit: int) -> Law:
    """Return the noise that sums of such length will get, in stars; the grant is not touched."""
    moved = lengths[_norm(grant)] * unit
    if grant.delta:
        return DiscreteGaussian(sigma_for(moved**2, grant.rho)).divided(unit)
    return DiscreteLaplace(scale_for(moved, grant.exact)).divided(unit)


def _noised(sums: Bounded, grant: Grant, noise: NoiseSource) -> Noisy:
    return add_gaussian(sums, grant, noise) if grant.delta else add(sums, grant, noise)


def _factors(pairs: Noisy, support: NDArray[np.float64], people: float) -> NDArray[np.float64]:
    return factors_of(pairs.counts, pairs.law.variance**0.5, support, people)


def _story(log: EventLog, laws: Mapping[str, Law], grants: Mapping[str, Grant], made: _Made) -> list[str]:
    low, high = log.value_range or (0, 0)
    model, squares = grants["model"], bool(grants["model"].delta)
    length = "sum of squares" if squares else "sum"
    norm = _norm(model)
    most = OFFSETS_LENGTH[norm] ** (2 if squares else 1)
    told = [
        f"The number of people got {laws['people'].in_words()}, paid with {paid(grants['people'])}.",
        f"Ratings in column {log.roles.value!r} were cut to lie between {low} and {high}, and stretched to 1 to 5 "
        "stars; where a person rated an item more than once, the mean counted.",
        "For each item it was added up how far its ratings lie from their people's own means, and how many there "
        f"are. Of every person both were made smaller until their {length} was at most {most:,}, and every sum, "
        f"zeros included, got {laws[OFFSETS].in_words()}.",
    ]
    if made.factors is None:
        told.append("The number of people said that relations between items would drown in noise: none released.")
    else:
        told.append(
            f"For all pairs of the {made.factors.shape[0]:,} most rated items, products of how far a person's "
            "ratings lie from what is expected were added up, made smaller in the same way, with "
            f"{laws[RELATIONS].in_words()}. {_depth(made.depth)}"
        )
    told.append(f"Sums over items and pairs were paid with {paid(model)} together.")
    return told


def _depth(factors: int) -> str:
    if not factors:
        return "Nothing stood out of the noise."
    return f"What stood out of the noise is kept as {factors} {'number' if factors == 1 else 'numbers'} an item."
