"""Train and test splits of ratings: a share of each user's ratings, or one per user. Not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.lab.recommender.candidates import Queries
from headcount.lab.recommender.ratings import Ratings


@dataclass(frozen=True)
class Split:
    """What is learnt from, what is asked, and what the answers are."""

    train: Ratings
    queries: Queries
    truth: Floats

    @classmethod
    def of(cls, ratings: Ratings, held: NDArray[np.bool_]) -> Split:
        """Hold some ratings back."""
        return cls(ratings.only(~held), Queries(ratings.users[held], ratings.items[held]), ratings.values[held])

    def mean_absolute_error(self, predicted: Floats) -> float:
        """Return how far predictions are off on average."""
        return float(np.abs(predicted - self.truth).mean())


def split_share_per_user(ratings: Ratings, seed: int, share: float = 0.2) -> Split:
    """Hold back a share of each user's ratings, rounded down: those of a random order that come first.

    >>> ratings = Ratings.of([0] * 10 + [1] * 4, [*range(10), *range(4)], [3.0] * 14, n_items=10)
    >>> split_share_per_user(ratings, seed=1).train.counts
    array([8, 4])
    """
    return Split.of(ratings, _place(ratings, seed) < np.floor(share * ratings.counts + 1e-9)[ratings.users])


def split_one_per_user(ratings: Ratings, seed: int) -> Split:
    """Hold back one random rating of each user who has two or more (all but one).

    >>> ratings = Ratings.of([0, 0, 1], [0, 1, 1], [3.0, 4.0, 5.0], n_items=2)
    >>> split_one_per_user(ratings, seed=1).train.counts
    array([1, 1])
    """
    return Split.of(ratings, (_place(ratings, seed) == 0) & (ratings.counts > 1)[ratings.users])


def _place(ratings: Ratings, seed: int) -> NDArray[np.int64]:
    """Return each rating's place in a random order of its user's ratings."""
    draws = np.random.Generator(np.random.PCG64(seed)).random(ratings.values.size)
    order = np.lexsort((draws, ratings.users))
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size) - ratings.starts[:-1][ratings.users]
    return place
