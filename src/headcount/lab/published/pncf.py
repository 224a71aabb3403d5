"""PNCF: neighbours drawn by an exponential mechanism, their similarities perturbed, as its thesis runs it.

It exists so that published results can be reproduced and refuted. It runs only where the caller says research, and
everything it writes says that the claim is not established.

Why it is not private
    Noise and exponent are scaled by recommendation-aware sensitivity: the change that one user less makes in these
    very data. That is a local sensitivity, and no smooth bound of it: it may be near 0 with a user and 1 without,
    so that the noise itself tells them apart; ``tests/neighbours/test_pncf_refuted`` works a loss out. Every
    prediction spends ε again, on the same ratings. In the release below every item spends it again.

Departures from the thesis
    Lemma 2 multiplies the sensitivity by exp(-β) and gives no β: it is 0 here. The sensitivity is cut to the whole
    range of the similarity. The second term of Lemma 1 is taken as its proof has it, with the scalar product of
    both vectors; for Pearson the change is worked out exactly. ρ is not given either: 0.05. Similarities that are
    not positive after perturbation have no weight, unless ``signed`` weighs as printed
    (:mod:`headcount.lab.recommending.plain` says why). For a prediction the candidates are the items that the user
    rated; for the release, all other items.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from headcount.arrays import Codes, Floats, Integers
from headcount.budget import Grant, Price, Priced
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.lab.published.pncf_selection import Mechanism, perturbed, select, sensitivities
from headcount.lab.recommending.candidates import Candidates, Queries, candidates, parts
from headcount.lab.recommending.plain import Neighbourhood, best, spoken_for
from headcount.lab.recommending.ratings import Ratings
from headcount.lab.recommending.raw_ratings import ratings_of
from headcount.lab.recommending.similarity import Metric, Similarity
from headcount.method import Bounds, Staged, what_counted
from headcount.noise import NoiseSource
from headcount.releases import Release
from headcount.stages import Stages, evenly, share_out

_REASON = (
    "noise and selection follow the change that one user makes in these very data, which reveals that user, and "
    "every item spends ε again"
)
_MOST_ITEMS = 20_000  # two matrices of items × items are held


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A neighbourhood method, and how its neighbours are drawn and perturbed."""

    neighbourhood: Neighbourhood
    mechanism: Mechanism

    def chosen(self, some: Candidates, noise: NoiseSource) -> tuple[Integers, Floats]:
        """Draw each query's neighbours, and return their places and perturbed similarities."""
        near = self.neighbourhood
        scale = sensitivities(some, near.metric, self.mechanism)
        places = select(some, near.k, scale, self.mechanism, noise)
        return places, perturbed(some.similarity[places], scale[places], near.k, self.mechanism, noise)


def predict(
    ratings: Ratings, queries: Queries, settings: Settings, noise: NoiseSource, alike: Similarity | None = None
) -> Floats:
    """Predict ratings, each from neighbours of its own drawing; ``alike`` as in the plain way, with sensitivity.

    >>> from headcount.noise import SeededNoise
    >>> ratings = Ratings.of([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [5.0, 4.0, 3.0, 2.0, 4.0], n_items=2)
    >>> settings = Settings(neighbourhood=Neighbourhood(k=1), mechanism=Mechanism(epsilon=1e6))
    >>> predict(ratings, Queries(np.array([2]), np.array([1])), settings, SeededNoise(1))
    array([4.])
    """
    near = settings.neighbourhood
    alike = alike or near.compared(ratings, sensitivity=True)
    told = np.empty(len(queries.users))
    for part in parts(ratings, queries, near.by):
        some = candidates(ratings, Queries(queries.users[part], queries.items[part]), near.by, alike)
        places, similarity = settings.chosen(some, noise)
        told[part] = some.predicted(places, near.weights(similarity), near.within)
    return told


def recommend(ratings: Ratings, user: int, settings: Settings, count: int, noise: NoiseSource) -> Codes:
    """Return the ``count`` best items for a user, scored by neighbours and similarities that are drawn anew."""
    near, rated = settings.neighbourhood, ratings.of_user(user)[0]
    alike = near.compared_for(ratings, user, sensitivity=True)
    targets = rated if near.by == "item" else np.array([user], dtype=np.int32)
    _, others, similarity = neighbour_lists(alike, targets, settings, noise)
    if near.by == "item":
        score = np.bincount(others, np.maximum(similarity, 0.0), ratings.n_items).astype(np.float64)
    else:
        score = spoken_for(ratings, others, similarity)
    return best(score, rated, count)


def neighbour_lists(
    alike: Similarity, targets: Codes, settings: Settings, noise: NoiseSource
) -> tuple[Codes, Codes, Floats]:
    """Return each target's k drawn neighbours among all others; ``alike`` has one row for each target.

    The three columns are target, neighbour and perturbed similarity.
    """
    all_others = np.arange(alike.values.shape[1], dtype=np.int32)
    found = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    for row, target in enumerate(targets.tolist()):
        others = np.delete(all_others, target)
        one = Candidates(
            np.zeros(others.size, np.int64), alike.values[row, others], alike.sensitivity[row, others],
            np.zeros(others.size), np.zeros(1), np.zeros(1),
        )  # fmt: skip
        places, similarity = settings.chosen(one, noise)
        found.append((np.full(places.size, target, np.int32), others[places], similarity))
    who, whom, how = (np.concatenate(column) for column in zip(*found, strict=True))
    return who, whom, how


@dataclass(frozen=True, kw_only=True)
class PncfPublished(Staged):
    """Item neighbours drawn and perturbed with the sensitivity of the data themselves.

    >>> PncfPublished(k=10).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "pncf-published"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = _REASON
    bounds: ClassVar[Bounds] = ()
    page: ClassVar[str] = "neighbours-published.md"

    k: int = 40
    metric: Metric = "cos"

    def __post_init__(self) -> None:
        Neighbourhood(metric=self.metric, k=self.k)

    def guarantee(self, priced: Priced) -> Guarantee:
        """What the thesis claims."""
        return Guarantee(epsilon=priced.epsilon, standing=Standing.CLAIMED, reason=_REASON)

    def check(self, log: EventLog) -> None:
        """Refuse what is no log of ratings."""
        _check(log)

    def stages(self, log: EventLog, price: Price) -> Stages:  # noqa: ARG002
        """The choice of neighbours, and their similarities; noise is unknown before the data is read."""
        price.check_pure("PNCF")
        return evenly(("selection", "perturbation"))

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:  # noqa: ARG002
        """Draw the neighbours of every item, and perturb their similarities; half of ε is meant for each."""
        _check(log)
        guarantee, size = self.guarantee(grant), len(log.catalogue.ids)
        for half in share_out(self.stages(log, grant.price), grant).values():
            half.spend()
        settings = Settings(
            neighbourhood=Neighbourhood(metric=self.metric, k=self.k),
            mechanism=Mechanism(epsilon=float(grant.epsilon)),
        )
        users, items, values = ratings_of(log)
        alike = settings.neighbourhood.compared(Ratings.of(users, items, values, n_items=size), sensitivity=True)
        columns = neighbour_lists(alike, np.arange(size, dtype=np.int32), settings, noise)
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise={},
            tables={"model/items": _items(log), "model/neighbours": _table(log, *columns)},
            counts="records",
            steps=(*what_counted(log), *_story(self.k, self.metric)),
            catalogue=log.catalogue.digest,
            simulated=not noise.is_private,
        )


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


def _items(log: EventLog) -> pa.Table:
    return pa.table({"item": log.catalogue.column, "label": pa.array(log.catalogue.labels, pa.string())})


def _table(log: EventLog, item: Codes, neighbour: Codes, similarity: Floats) -> pa.Table:
    ids = log.catalogue.column
    return pa.table(
        {
            "item": ids.take(pa.array(item)),
            "neighbour": ids.take(pa.array(neighbour)),
            "similarity": pa.array(similarity, pa.float64()),
        }
    )


def _story(k: int, metric: Metric) -> list[str]:
    word = {"pcc": "Pearson's correlation", "cos": "the cosine"}[metric]
    return [
        f"All pairs of items were compared by {word} over the people who rated both.",
        f"For each item {k:,} neighbours were drawn by an exponential mechanism, meant to be paid with half of ε.",
        "Their similarities got Laplace noise, meant to be paid with the other half.",
        "Both were scaled by the change that one person makes in these very ratings, and spent ε again for each "
        "item.",
    ]
