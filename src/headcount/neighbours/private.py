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
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.answers.tastes import FEWEST_ITEMS, factors_of, offsets_of, worthwhile_items
from headcount.bounding import (
    FIXED_POINT,
    STAR,
    UNDRAWN,
    Noisy,
    Norm,
    Offsets,
    Pairs,
    Raters,
    Sensitivity,
)
from headcount.budget import Grant, Price, Priced
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.method import ONE_ID, PUBLIC_CATALOGUE, Bounds, Staged, paid, what_counted
from headcount.neighbours.tables import check_ratings, item_column, standing_out
from headcount.noise import NoiseSource, add, norm_of
from headcount.noise_law import Law
from headcount.releases import Interval, Release
from headcount.stages import Stage, Stages, laws_of, share_out

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
class PrivateNeighbours(Staged):
    """Fit a model of ratings; ``relations`` says whether pairs of items are released, None where it pays.

    >>> from headcount.noise import SeededNoise
    >>> stars = [(f"u{n}", item, 5 if item == "tea" else 2) for n in range(400) for item in ("tea", "rye")]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> made = PrivateNeighbours().release(log, Grant("4", "1e-6"), SeededNoise(1))
    >>> [round(each, 1) for each in made.tables["model/items"]["offset"].to_pylist()]
    [-1.6, 1.5]
    """

    name: ClassVar[str] = "private"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (Raters, Offsets, Pairs)

    relations: bool | None = None

    def __post_init__(self) -> None:
        if self.relations not in (None, True, False):
            raise UsageError("relations must be true or false", given=self.relations, remedy="or leave it out")

    def guarantee(self, priced: Priced) -> Guarantee:
        """Pure ε, or (ε, δ), for adding or removing a user."""
        declared = "the range of values and which records count at all were chosen without looking at the log"
        assumes = (PUBLIC_CATALOGUE, declared, ONE_ID, OWN_RATINGS)
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumes)

    def check(self, log: EventLog) -> None:
        """Refuse a log without ratings, and what a model of them cannot use."""
        check_ratings(log)

    def stages(self, log: EventLog, price: Price) -> Stages:  # noqa: ARG002
        """A little for the number of people; the rest, and all of δ, for the model.

        The number of people decides on relations; where they are not ruled out, noise is not known before.
        """
        least = min(RELATIONS_SHARES.values()) if self.relations else Decimal(0)
        parts = _model(norm_of(price), least)
        if self.relations is not False:
            parts = tuple(replace(part, tells=()) for part in parts)
        people = Stage("people", PEOPLE_SHARE, moves=Sensitivity.of_l1(1), tells=("people",))
        return people, Stage("model", 1 - PEOPLE_SHARE, gaussian=bool(price.delta), parts=parts)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release the number of people, the sums over items and, if that pays, over pairs of items."""
        self.check(log)
        guarantee, grants = self.guarantee(grant), share_out(self.stages(log, grant.price), grant)
        engine = engine or LocalEngine()
        norm = norm_of(grant.price)
        people = add(engine.measure(log, Raters(), UNDRAWN), grants["people"], noise)
        items, share = self._relations(float(people.counts[0]), log, grants["model"].price)
        parts = share_out(_model(norm, share), grants["model"])
        noisy = add(engine.measure(log, Offsets(OFFSETS_LENGTH[norm], norm), UNDRAWN), parts["offsets"], noise)
        offsets, support = offsets_of(noisy.counts[0], noisy.counts[1], noisy.law.variance**0.5)
        offsets = np.rint(offsets * STAR) / STAR
        made = _Made(offsets, support)
        laws: dict[str, Law] = {"people": people.law, OFFSETS: noisy.law}
        if items:
            places = np.sort(np.argsort(-support, kind="stable")[:items]).astype(np.int64)
            units = np.rint(offsets * STAR).astype(np.int64)
            bound = Pairs(PAIRS_LENGTH[norm], norm, places, units)
            pairs = add(engine.measure(log, bound, UNDRAWN), parts["relations"], noise)
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

    def _relations(self, people: float, log: EventLog, price: Price) -> tuple[int, Decimal]:
        """Say among how many items relations are released, and with which share: from released and public numbers.

        None are where they do not pay, or are not asked for.
        """
        catalogue, norm = len(log.catalogue.ids), norm_of(price)
        if self.relations is False or catalogue < 2:
            return 0, Decimal(0)
        for enough, share in RELATIONS_SHARES.items():
            try:
                deviation = laws_of(_model(norm, share), price)[RELATIONS].variance ** 0.5
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


def _model(norm: Norm, share: Decimal) -> Stages:
    """Return the stages of the model, of which relations get a share: of ρ where there is δ, else of ε."""
    offsets = Stage(
        "offsets",
        1 - share,
        gaussian=norm == "l2",
        moves=Sensitivity.of_l1(OFFSETS_LENGTH[norm] * STAR),
        unit=STAR,
        tells=(OFFSETS,),
    )
    if not share:
        return (offsets,)
    moved = Sensitivity.of_l1(PAIRS_LENGTH[norm] * FIXED_POINT)
    return offsets, replace(
        offsets, name="relations", share=share, moves=moved, unit=FIXED_POINT, tells=(RELATIONS,)
    )


def _factors(pairs: Noisy, support: NDArray[np.float64], people: float) -> NDArray[np.float64]:
    return factors_of(pairs.counts, pairs.law.variance**0.5, support, people)


def _story(log: EventLog, laws: Mapping[str, Law], grants: Mapping[str, Grant], made: _Made) -> list[str]:
    low, high = log.value_range or (0, 0)
    model, squares = grants["model"], bool(grants["model"].delta)
    length = "sum of squares" if squares else "sum"
    norm = norm_of(model.price)
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
            f"{laws[RELATIONS].in_words()}. {standing_out(made.depth)}"
        )
    told.append(f"Sums over items and pairs were paid with {paid(model)} together.")
    return told
