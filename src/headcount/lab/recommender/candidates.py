"""Candidate neighbours of a prediction, and the prediction from chosen ones.

To predict what a user gives an item, the item-based way listens to the items that this user rated, the user-based
way to the users who rated this item. That is how the thesis' own numbers read: random ones of all items would have
been rated by hardly anybody.

Prediction
    Items (3.2.3): Σ s(i, j) r_aj / Σ |s(i, j)|. Users: r̄_a + Σ s(a, u) (r_ui - r̄_u) / Σ |s(a, u)|, over the chosen
    neighbours, by :func:`headcount.methods.recommender.recommender.weighted_vote`. Where no weight is left, the
    user's own mean.

Splits hold back a share of each user's ratings, or one per user. Not private.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Floats, Integers
from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import Similarity
from headcount.methods.recommender.recommender import weighted_vote

By = Literal["item", "user"]
SIDES: tuple[By, ...] = ("item", "user")
_AT_ONCE = 4_000_000  # candidates that are held at the same time, about


class Queries(NamedTuple):
    """Which ratings to predict: of which user, on which item."""

    users: Codes
    items: Codes


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each query its candidates, one after the other: how similar each is, and what it says.

    ``base`` is where a prediction starts, ``fallback`` what it is if nobody speaks.
    """

    query: Integers
    similarity: Floats
    sensitivity: Floats
    neighbour_ratings: Floats
    base: Floats
    fallback: Floats

    def ranked(self, score: Floats, k: int) -> Integers:
        """Return the places of each query's ``k`` candidates with the largest scores; the first of equal ones."""
        from headcount.lab.recommender.kernels import largest

        starts = np.searchsorted(self.query, np.arange(self.base.size + 1))
        places = np.empty(int(np.minimum(np.diff(starts), k).sum()), dtype=np.int64)
        largest(starts, score, k, places)
        return places

    def predicted(self, chosen: Integers, weights: Floats, within: tuple[float, float]) -> Floats:
        """Average what the chosen candidates say, by their weights."""
        return weighted_vote(
            self.query[chosen], weights, self.neighbour_ratings[chosen], self.base, self.fallback, within
        )


def candidates(ratings: Ratings, queries: Queries, by: By, alike: Similarity) -> Candidates:
    """Gather the candidates of all queries; ``alike`` compares items, or users for the user-based way."""
    table = ratings if by == "item" else ratings.transposed
    owner, target = (queries.users, queries.items) if by == "item" else (queries.items, queries.users)
    query, places = _spread(table.starts, owner)
    other = table.items[places]
    own = other != target[query]
    query, places, other = query[own], places[own], other[own]
    neighbour_ratings = table.values[places]
    if by == "user":
        neighbour_ratings = neighbour_ratings - ratings.means[other]
    row = alike.rows(target)[query]
    sensitivity = alike.sensitivity[row, other] if alike.sensitivity.size else np.zeros(0)
    fallback = ratings.means[queries.users]
    base = np.zeros_like(fallback) if by == "item" else fallback
    return Candidates(query, alike.values[row, other], sensitivity, neighbour_ratings, base, fallback)


def parts(ratings: Ratings, queries: Queries, by: By) -> Iterator[slice]:
    """Cut the queries into parts whose candidates fit into memory together."""
    table = ratings if by == "item" else ratings.transposed
    counts = table.counts[queries.users if by == "item" else queries.items]
    part = np.cumsum(counts) // _AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), counts.size]
    yield from (slice(begin, end) for begin, end in itertools.pairwise(cuts) if end > begin)


def _spread(starts: Integers, rows: Codes) -> tuple[Integers, Integers]:
    """Return the places of all entries of some rows, and for each the number of the row it was asked for.

    >>> _spread(np.array([0, 2, 3]), np.array([1, 0], dtype=np.int32))
    (array([0, 1, 1]), array([2, 0, 1]))
    """
    many = starts[rows + 1] - starts[rows]
    number = np.repeat(np.arange(rows.size), many)
    first = np.cumsum(many) - many
    return number, starts[rows][number] + np.arange(number.size) - first[number]


@dataclass(frozen=True)
class Split:
    """What is learnt from, what is asked, and what the answers are."""

    train: Ratings
    queries: Queries
    truth: Floats

    @classmethod
    def hold_out(cls, ratings: Ratings, held: NDArray[np.bool_]) -> Split:
        """Hold some ratings back."""
        return cls(ratings.only(~held), Queries(ratings.users[held], ratings.items[held]), ratings.values[held])

    def mean_absolute_error(self, predicted: Floats) -> float:
        """Return how far predictions are off on average."""
        return float(np.abs(predicted - self.truth).mean())


def split_share_per_user(ratings: Ratings, seed: int, share: float = 0.2) -> Split:
    """Hold back a share of each user's ratings, rounded down: those of a random order that come first.

    >>> ratings = Ratings.from_pairs([0] * 10 + [1] * 4, [*range(10), *range(4)], [3.0] * 14, n_items=10)
    >>> split_share_per_user(ratings, seed=1).train.counts
    array([8, 4])
    """
    return Split.hold_out(ratings, _place(ratings, seed) < np.floor(share * ratings.counts + 1e-9)[ratings.users])


def split_one_per_user(ratings: Ratings, seed: int) -> Split:
    """Hold back one random rating of each user who has two or more (all but one).

    >>> ratings = Ratings.from_pairs([0, 0, 1], [0, 1, 1], [3.0, 4.0, 5.0], n_items=2)
    >>> split_one_per_user(ratings, seed=1).train.counts
    array([1, 1])
    """
    return Split.hold_out(ratings, (_place(ratings, seed) == 0) & (ratings.counts > 1)[ratings.users])


def _place(ratings: Ratings, seed: int) -> NDArray[np.int64]:
    """Return each rating's place in a random order of its user's ratings."""
    draws = np.random.Generator(np.random.PCG64(seed)).random(ratings.values.size)
    order = np.lexsort((draws, ratings.users))
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size) - ratings.starts[:-1][ratings.users]
    return place
