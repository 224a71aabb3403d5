"""PNCF as released predictions: one rating for each requested pair of user and item.

This is Algorithm 1 to its last step, as :mod:`headcount.lab.replicate.pncf` measures it. The neighbours of a
prediction are drawn among the items that the person rated, or the people who rated the item. It runs only where
the caller says research, and everything it writes says that the claim is not established.

Why it is not private
    As :mod:`headcount.lab.as_published.pncf_release`: noise and exponent follow the data, and every
    prediction spends ε again on the same ratings. Beyond that, a prediction by people says what others gave,
    without any noise on it: who alone rated an item is read off it. One without any neighbour of positive weight
    is a mean of ratings.

Departures from the thesis
    Those of :mod:`headcount.lab.as_published.pncf_release`. The noise has the scale 2 RS / ε of
    (3.4.1), unless ``perturbation`` is the algorithm's, which prints 2 k RS / ε.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Codes
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.lab.as_published.pncf import Settings, predict
from headcount.lab.as_published.pncf_operations import Mechanism, Perturbation
from headcount.lab.as_published.pncf_release import MEASURES, REASON, PncfMethod
from headcount.lab.recommender.candidates import By, Queries
from headcount.lab.recommender.neighbourhood import Neighbourhood
from headcount.lab.recommender.ratings import ratings_of
from headcount.lab.recommender.similarity import Metric
from headcount.methods.recommender import PREDICTIONS
from headcount.noise import NoiseSource
from headcount.releases.formatting import some
from headcount.releases.item_lookup import ItemNames


@dataclass(frozen=True, kw_only=True)
class PncfPredictionsPublished(PncfMethod):
    """Ratings of named people, predicted from neighbours drawn with the sensitivity of the data themselves.

    >>> from headcount.accounting.budget import Grant
    >>> from headcount.noise import SeededNoise
    >>> stars = [("ann", "tea", 5), ("ann", "rye", 4), ("bob", "tea", 3), ("bob", "rye", 2), ("cyn", "tea", 4)]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> method = PncfPredictionsPublished(k=1, asked=(("cyn", "rye"),))
    >>> method.release(log, Grant("1000"), SeededNoise(1)).tables["model/predictions"].to_pylist()
    [{'user': 'cyn', 'item': 'rye', 'rating': 4.0}]
    """

    name: ClassVar[str] = "pncf-predictions-published"
    reason: ClassVar[str | None] = f"{REASON}, and every prediction spends ε again"
    example: ClassVar[dict[str, Any]] = {"asked": (("1", "3"),)}

    by: By = "item"
    metric: Metric = "cos"
    k: int = 40
    perturbation: Perturbation = "equation"
    asked: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        self._settings(1.0, (1.0, 5.0))
        if not self.asked:
            raise UsageError(
                f"{self.name} predicts what is asked", remedy=f"name people and items with {param.asked('FILE')}"
            )

    def check(self, log: EventLog) -> None:
        """Refuse what is no log of ratings, and items that are not listed."""
        super().check(log)
        _places(log, [item for _, item in self.asked])

    def model_tables(self, log: EventLog, epsilon: float, noise: NoiseSource) -> dict[str, pa.Table]:
        """Predict a rating for each pair, in their order; a user who is not in the log has rated nothing."""
        low, high = log.value_range or (1, 5)
        settings, raw = self._settings(epsilon, (float(low), float(high))), ratings_of(log)
        users, items = zip(*self.asked, strict=True)
        unknown, places = raw.ratings.n_users, _places(log, items)
        ratings = raw.ratings.joined(np.zeros(0, np.int32), np.zeros(0), 1)
        codes = np.array([raw.people.get(user, unknown) for user in users], dtype=np.int32)
        predicted = predict(ratings, Queries(codes, places), settings, noise)
        columns = (pa.array(users, pa.string()), log.catalogue.column.take(pa.array(places)), pa.array(predicted))
        return {PREDICTIONS.name: pa.table(dict(zip(PREDICTIONS.columns, columns, strict=True)))}

    def _settings(self, epsilon: float, within: tuple[float, float]) -> Settings:
        return Settings(
            neighbourhood=Neighbourhood(by=self.by, metric=self.metric, k=self.k, within=within),
            mechanism=Mechanism(epsilon=epsilon, perturbation=self.perturbation),
        )

    def story(self) -> list[str]:
        """The comparison, the draw, the noise and the predictions."""
        compared, over, speak = {
            "item": ("Items", "the people who rated both", "items that the person rated"),
            "user": ("People", "the items that both rated", "people who rated the item"),
        }[self.by]
        return [
            f"{compared} were compared by {MEASURES[self.metric]} over {over}.",
            f"For each prediction up to {self.k:,} neighbours were drawn among the {speak}, by an exponential "
            "mechanism, meant to be paid with half of ε.",
            "Their similarities got Laplace noise, meant to be paid with the other half.",
            "Both were scaled by the change that one person makes in these very ratings, and spent ε again for "
            "each prediction.",
            f"So {some(len(self.asked), 'rating')} of named people came about: what the neighbours say, weighed "
            "by these similarities.",
        ]


def _places(log: EventLog, items: Iterable[str]) -> Codes:
    """Return where items are in the catalogue; one that it does not list is refused."""
    names = ItemNames.index(log.catalogue.ids, log.catalogue.labels)
    return np.array([names.place(item) for item in items], dtype=np.int32)
