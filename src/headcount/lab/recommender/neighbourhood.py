"""Reference neighbourhood recommenders, item-based and user-based. Not private.

A rating is predicted from the k candidates most similar to the target (see
:mod:`headcount.lab.recommender.candidates`). A recommendation for somebody looks at what they rated, and weighs a
similarity by the number n of co-raters, n / (n + 25), lest two who share a single rating be the most similar of
all:

* item-based: an item scores by the sum of its similarities to the rated items, the k largest of them;
* user-based: the k most similar users are found among all, and an item scores by the sum of similarity times
  rating over those of them who rated it.

Departures from the thesis
    A similarity that is not positive has no weight: with the printed Σ |s| below and ratings that are not centred
    above, an item that is unlike the target would turn a good rating into a bad prediction. ``signed`` weighs as
    printed.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, section 3.2.

Beside it stands the private rating model on ratings in memory, with integer item codes and seeded noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Codes, Floats, Integers
from headcount.accounting.budget import Amount, Grant
from headcount.errors import UsageError
from headcount.events.log import read_events
from headcount.lab.recommender.candidates import SIDES, By, Candidates, Queries, candidates, parts
from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import METRICS, Metric, Similarity, similarity
from headcount.methods.recommender.rating_model import RatingModel
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.noise import NoiseSource

SUPPORT = 25.0
"""Co-raters that a similarity needs to count with half its weight, in recommendations."""


@dataclass(frozen=True, kw_only=True)
class Neighbourhood:
    """What a neighbourhood method is: who is compared, how, and how many neighbours speak.

    ``within`` is the public range of ratings.

    >>> ratings = Ratings.from_pairs([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [5.0, 4.0, 3.0, 2.0, 4.0], n_items=2)
    >>> predict(ratings, Queries(np.array([2]), np.array([1])), Neighbourhood(by="item", metric="cos", k=5))
    array([4.])
    """

    by: By = "item"
    metric: Metric = "cos"
    k: int = 40
    within: tuple[float, float] = (1.0, 5.0)
    signed: bool = False

    def __post_init__(self) -> None:
        if self.by not in SIDES or self.metric not in METRICS or self.k < 1:
            raise UsageError(
                f"neighbours are compared by {' or '.join(SIDES)} and {' or '.join(METRICS)}, and are 1 or more",
                given=f"{self.by}, {self.metric}, {self.k}",
            )

    def compared(
        self, ratings: Ratings, queries: Queries | None = None, *, sensitivity: bool = False
    ) -> Similarity:
        """Compare all items, or all users; those alone that are asked about, if queries are given."""
        rows, place = (ratings, 1) if self.by == "item" else (ratings.transposed, 0)
        targets = None if queries is None else np.unique(queries[place])
        return similarity(rows, self.metric, targets=targets, sensitivity=sensitivity)

    def compared_for(self, ratings: Ratings, user: int, *, sensitivity: bool = False) -> Similarity:
        """Compare what one user rated with all items, or that user with all users."""
        if self.by == "item":
            rated, _ = ratings.of_user(user)
            return similarity(ratings, self.metric, targets=rated, overlap=True, sensitivity=sensitivity)
        target = np.array([user], dtype=np.int32)
        return similarity(ratings.transposed, self.metric, targets=target, overlap=True, sensitivity=sensitivity)

    def nearest(self, some: Candidates) -> tuple[Integers, Floats]:
        """Return the places of each query's most similar candidates, and how similar they are."""
        places = some.ranked(some.similarity, self.k)
        return places, some.similarity[places]

    def predict_candidates(self, some: Candidates, places: Integers, similarity: Floats) -> Floats:
        """Predict by what the neighbours at some places say, weighed by how similar they are taken to be."""
        return some.predicted(places, similarity if self.signed else np.maximum(similarity, 0.0), self.within)


def predict(
    ratings: Ratings, queries: Queries, settings: Neighbourhood, alike: Similarity | None = None
) -> Floats:
    """Predict ratings by the k most similar candidates; ``alike`` is taken where it was worked out before."""
    alike = alike or settings.compared(ratings, queries)
    predicted = np.empty(len(queries.users))
    for part in parts(ratings, queries, settings.by):
        some = candidates(ratings, Queries(queries.users[part], queries.items[part]), settings.by, alike)
        predicted[part] = settings.predict_candidates(some, *settings.nearest(some))
    return predicted


def recommend(ratings: Ratings, user: int, settings: Neighbourhood, count: int) -> Codes:
    """Return the ``count`` best items for a user who is in the ratings, without those rated already."""
    weights = supported(settings.compared_for(ratings, user))
    if settings.by == "item":
        score = largest_sum(weights, settings.k)
    else:
        near = np.argsort(-weights[0], kind="stable")[: settings.k].astype(np.int32)
        score = spoken_for(ratings, near, weights[0, near])
    return best(score, ratings.of_user(user)[0], count)


def supported(alike: Similarity) -> Floats:
    """Weigh similarities by how many ratings they rest on; those below 0 do not count."""
    return np.maximum(alike.values, 0.0) * (alike.overlap / (alike.overlap + SUPPORT))


def spoken_for(ratings: Ratings, users: Codes, weights: Floats) -> Floats:
    """Score items by what some users gave them, weighted by how similar the users are."""
    score = np.zeros(ratings.n_items)
    for user, weight in zip(users.tolist(), weights.tolist(), strict=True):
        items, values = ratings.of_user(user)
        score[items] += max(0.0, weight) * values
    return score


def largest_sum(scores: Floats, k: int) -> Floats:
    """Add up the k largest numbers of each column.

    >>> largest_sum(np.array([[1.0, 5.0], [2.0, 0.5], [3.0, 4.0]]), 2)
    array([5., 9.])
    """
    if scores.shape[0] > k:
        scores = np.partition(scores, scores.shape[0] - k, axis=0)[-k:]
    return np.asarray(scores.sum(axis=0))


def best(score: Floats, rated: Codes, count: int) -> Codes:
    """Return the items with the largest positive scores, without those rated already."""
    score = score.copy()
    score[rated] = 0.0
    order = np.argsort(-score, kind="stable")[:count].astype(np.int32)
    return np.asarray(order[score[order] > 0.0])


@dataclass(frozen=True)
class CodedModel:
    """A private model whose items are numbered as in the ratings that it was fitted to."""

    model: NeighbourModel
    low: float
    high: float

    def predict(self, items: Codes, values: Floats, wanted: Codes) -> Floats:
        """Return what somebody who gave ``values`` to ``items`` would give to the items wanted."""
        stretch = 4 / (self.high - self.low)
        stars = 1 + stretch * (np.clip(values, self.low, self.high) - self.low)
        expected = self.model.tastes.predict(items.astype(np.int64), stars)[wanted]
        return self.low + (expected - 1) / stretch

    def recommend(self, items: Codes, values: Floats, count: int) -> Codes:
        """Return the ``count`` items that somebody with these ratings would like best, of those not rated."""
        expected = self.predict(items, values, np.arange(self.model.tastes.offsets.size, dtype=np.int32))
        expected[items] = -np.inf
        best: Codes = np.argsort(-expected, kind="stable")[:count].astype(np.int32)
        return best


def fit_ratings(
    ratings: Ratings,
    epsilon: Amount,
    delta: Amount | None,
    within: tuple[float, float],
    noise: NoiseSource,
    *,
    relations: bool | None = None,
) -> CodedModel:
    """Fit the private model to ratings in memory; the grant is this call's own.

    >>> from headcount.noise import SeededNoise
    >>> items, values = [0] * 300 + [1] * 300, [5.0] * 300 + [2.0] * 300
    >>> ratings = Ratings.from_pairs([*range(300)] * 2, items, values, n_items=2)
    >>> model = fit_ratings(ratings, "4", "1e-6", (1, 5), SeededNoise(1))
    >>> model.recommend(np.array([1], np.int32), np.array([3.0]), 1)
    array([0], dtype=int32)
    """
    table = pa.table({"user": ratings.users, "item": ratings.items, "value": ratings.values})
    low, high = within
    items = [str(item) for item in range(ratings.n_items)]
    log = read_events(table, user="user", item="item", value="value", value_range=within, items=items)
    release = RatingModel(relations=relations).release(log, Grant(epsilon, delta), noise)
    return CodedModel(NeighbourModel(release), low, high)
