"""PNCF as the thesis runs it: predictions from private neighbours, or the neighbours of all items.

It exists so that published results can be reproduced and refuted. It runs only where the caller says research,
and everything it writes says that the claim is not established.

With ``asked``, pairs of a person and an item, it is Algorithm 1: the release holds the rating that is predicted
for each pair, from neighbours of its own drawing among the items that the person rated, or the people who rated
the item. Without, it holds neighbours of every item and their perturbed similarities: a model from which
anybody's own ratings predict (3.2.3). There is no such model of people: it would say who is like whom, and a
prediction would need what all of them rated.

Why it is not private
    Noise and exponent are scaled by recommendation-aware sensitivity: the change that one user less makes in
    these very data. That is a local sensitivity, and no smooth bound of it: it may be near 0 with a user and 1
    without, so that the noise itself tells them apart; ``tests/lab/published/test_pncf_refuted`` works a loss
    out. Every prediction, and every item of the model, spends ε again on the same ratings. A prediction
    without any neighbour of positive weight is a mean of ratings, and has no noise.

Departures from the thesis
    Lemma 2 multiplies the sensitivity by exp(-β) and gives no β: it is 0 here. The sensitivity is cut to the
    whole range of the similarity. The second term of Lemma 1 is taken as its proof has it, with the scalar
    product of both vectors; for Pearson the change is worked out exactly. ρ is not given either: 0.05. The
    noise has the scale 2 RS / ε of (3.4.1), unless ``perturbation`` is the algorithm's, which prints 2 k RS /
    ε. Similarities that are not positive after perturbation have no weight
    (:mod:`headcount.lab.recommending.plain` says why). For a prediction the candidates are the items that the
    user rated, or the users who rated the item; for the model, all other items.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from headcount.answers.item_names import ItemNames
from headcount.answers.words import some
from headcount.arrays import Codes
from headcount.budget import Grant, Price, Priced
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.lab.published.pncf import Settings, neighbour_lists, predict
from headcount.lab.published.pncf_selection import Mechanism, Perturbation
from headcount.lab.recommending.candidates import By, Queries
from headcount.lab.recommending.plain import Neighbourhood
from headcount.lab.recommending.ratings import Ratings
from headcount.lab.recommending.raw_ratings import RawRatings, ratings_of
from headcount.lab.recommending.similarity import Metric
from headcount.method import Bounds, Staged, what_counted
from headcount.neighbours import ITEMS, PREDICTIONS
from headcount.neighbours.model import NEIGHBOURS
from headcount.neighbours.tables import item_column
from headcount.noise import NoiseSource
from headcount.releases import Release
from headcount.stages import Stages, evenly, share_out

_REASON = (
    "noise and selection follow the change that one user makes in these very data, which reveals that user, and "
    "every item and every prediction spends ε again"
)
_MOST_ITEMS = 20_000  # two matrices of items × items are held
_MEASURES: Mapping[Metric, str] = {"pcc": "Pearson's correlation", "cos": "the cosine"}


@dataclass(frozen=True, kw_only=True)
class PncfPublished(Staged):
    """Neighbours drawn and perturbed with the sensitivity of the data themselves, and what they predict.

    >>> from headcount.noise import SeededNoise
    >>> stars = [("ann", "tea", 5), ("ann", "rye", 4), ("bob", "tea", 3), ("bob", "rye", 2), ("cyn", "tea", 4)]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> made = PncfPublished(k=1, asked=(("cyn", "rye"),)).release(log, Grant("1000"), SeededNoise(1))
    >>> made.tables["model/predictions"].to_pylist()
    [{'user': 'cyn', 'item': 'rye', 'rating': 4.0}]
    >>> made.guarantee.short()
    'ε = 1000 claimed, not established'
    """

    name: ClassVar[str] = "pncf-published"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = _REASON
    bounds: ClassVar[Bounds] = ()
    page: ClassVar[str] = "neighbours-published.md"

    by: By = "item"
    metric: Metric = "cos"
    k: int = 40
    perturbation: Perturbation = "equation"
    asked: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        self._settings(1.0, (1.0, 5.0))
        if self.by == "user" and not self.asked:
            raise UsageError(
                "neighbours who are people are in no model",
                remedy="name the people and items to predict for with --asked FILE, or use --option by=item",
            )

    def guarantee(self, priced: Priced) -> Guarantee:
        """What the thesis claims."""
        return Guarantee(epsilon=priced.epsilon, standing=Standing.CLAIMED, reason=_REASON)

    def check(self, log: EventLog) -> None:
        """Refuse what is no log of ratings, and items that are not listed."""
        _check(log)
        _places(log, [item for _, item in self.asked])

    def stages(self, log: EventLog, price: Price) -> Stages:  # noqa: ARG002
        """The choice of neighbours, and their similarities; noise is unknown before the data is read."""
        price.check_pure("PNCF")
        return evenly(("selection", "perturbation"))

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:  # noqa: ARG002
        """Predict what is asked, or draw the neighbours of every item; half of ε is meant for each operation."""
        self.check(log)
        guarantee, (low, high) = self.guarantee(grant), log.value_range or (1, 5)
        for half in share_out(self.stages(log, grant.price), grant).values():
            half.spend()
        settings, raw = self._settings(float(grant.epsilon), (float(low), float(high))), ratings_of(log)
        if self.asked:
            made = {PREDICTIONS.name: self._predicted(log, raw, settings, noise)}
        else:
            made = {NEIGHBOURS: _neighbours(log, raw.ratings, settings, noise)}
        items, labels = item_column(log)
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise={},
            tables={ITEMS.name: pa.table({"item": items, "label": labels}), **made},
            counts="records",
            steps=(*what_counted(log), *self._story()),
            catalogue=log.catalogue.digest,
            simulated=not noise.is_private,
        )

    def _settings(self, epsilon: float, within: tuple[float, float]) -> Settings:
        return Settings(
            neighbourhood=Neighbourhood(by=self.by, metric=self.metric, k=self.k, within=within),
            mechanism=Mechanism(epsilon=epsilon, perturbation=self.perturbation),
        )

    def _predicted(self, log: EventLog, raw: RawRatings, settings: Settings, noise: NoiseSource) -> pa.Table:
        """Predict a rating for each pair that is asked for, in their order; who is unknown has rated nothing."""
        people, items = zip(*self.asked, strict=True)
        unknown = raw.ratings.n_users
        ratings = raw.ratings.joined(np.zeros(0, np.int32), np.zeros(0), 1)
        codes = np.array([raw.people.get(each, unknown) for each in people], dtype=np.int32)
        places = _places(log, items)
        told = predict(ratings, Queries(codes, places), settings, noise)
        columns = (pa.array(people, pa.string()), log.catalogue.column.take(pa.array(places)), pa.array(told))
        return pa.table(dict(zip(PREDICTIONS.columns, columns, strict=True)))

    def _story(self) -> list[str]:
        sides = {"item": ("items", "the people who rated both"), "user": ("people", "the items that both rated")}
        these, over = sides[self.by]
        compared = f"{these.capitalize()} were compared by {_MEASURES[self.metric]} over {over}."
        meant = "by an exponential mechanism, meant to be paid with half of ε."
        noisy = "Their similarities got Laplace noise, meant to be paid with the other half."
        scaled = (
            "Both were scaled by the change that one person makes in these very ratings, and spent ε again for "
        )
        if not self.asked:
            drawn = f"For each item {self.k:,} neighbours were drawn {meant}"
            return [compared, drawn, noisy, f"{scaled}each item."]
        speak = "items that the person rated" if self.by == "item" else "people who rated the item"
        return [
            compared,
            f"For each prediction up to {self.k:,} neighbours were drawn among the {speak}, {meant}",
            noisy,
            f"{scaled}each prediction.",
            f"So {some(len(self.asked), 'rating')} of named people came about: what the neighbours say, weighed "
            "by these similarities.",
        ]


def _check(log: EventLog) -> None:
    """Refuse a log without ratings, or with more items than can be compared."""
    if log.roles.value is None or log.value_range is None:
        raise UsageError("pncf-published needs ratings", remedy="name them with --value and --value-range LO,HI")
    if not log.has_catalogue or len(log.catalogue.ids) > _MOST_ITEMS:
        raise UsageError(
            f"pncf-published compares all pairs of at most {_MOST_ITEMS:,} items of a public catalogue",
            remedy="give a catalogue with --items, or a smaller one",
        )
    if log.context is not None:
        raise UsageError("pncf-published cannot use --context", remedy="leave it out")


def _places(log: EventLog, items: Iterable[str]) -> Codes:
    """Return where items are in the catalogue; one that it does not list is refused."""
    names = ItemNames.of(log.catalogue.ids, log.catalogue.labels)
    return np.array([names.place(each) for each in items], dtype=np.int32)


def _neighbours(log: EventLog, ratings: Ratings, settings: Settings, noise: NoiseSource) -> pa.Table:
    """Draw the neighbours of every item among all others."""
    alike = settings.neighbourhood.compared(ratings, sensitivity=True)
    everything = np.arange(ratings.n_items, dtype=np.int32)
    item, neighbour, similarity = neighbour_lists(alike, everything, settings, noise)
    ids = log.catalogue.column
    return pa.table(
        {
            "item": ids.take(pa.array(item)),
            "neighbour": ids.take(pa.array(neighbour)),
            "similarity": pa.array(similarity, pa.float64()),
        }
    )
