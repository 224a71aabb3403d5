"""The private rating model on ratings in memory, with integer item codes and seeded noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Codes, Floats
from headcount.accounting.budget import Amount, Grant
from headcount.events.log import read_events
from headcount.lab.recommender.ratings import Ratings
from headcount.methods.recommender.rating_model import RatingModel
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.noise import NoiseSource


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
    >>> ratings = Ratings.of([*range(300)] * 2, [0] * 300 + [1] * 300, [5.0] * 300 + [2.0] * 300, n_items=2)
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
