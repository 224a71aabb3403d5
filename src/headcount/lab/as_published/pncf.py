"""PNCF, Algorithm 1: draw neighbours, perturb their similarities, and predict ratings from them.

It is the one implementation: what is released (:mod:`headcount.lab.as_published.pncf_release`,
:mod:`headcount.lab.as_published.pncf_predictions`), reproduced (:mod:`headcount.lab.replicate.pncf`)
and attacked draws and predicts here. Step 1, the similarities, is in
:mod:`headcount.lab.recommender.similarity`, steps 2 and 3, which draw and perturb, are in
:mod:`headcount.lab.as_published.pncf_operations`, and step 4 is in
:mod:`headcount.lab.recommender.candidates`.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Codes, Floats, Integers
from headcount.lab.as_published.pncf_operations import Mechanism, perturbed, select, sensitivities
from headcount.lab.recommender.candidates import Candidates, Queries, candidates, parts
from headcount.lab.recommender.neighbourhood import Neighbourhood, best, spoken_for
from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import Similarity
from headcount.noise import NoiseSource


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
    >>> ratings = Ratings.from_pairs([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [5.0, 4.0, 3.0, 2.0, 4.0], n_items=2)
    >>> settings = Settings(neighbourhood=Neighbourhood(k=1), mechanism=Mechanism(epsilon=1e6))
    >>> predict(ratings, Queries(np.array([2]), np.array([1])), settings, SeededNoise(1))
    array([4.])
    """
    near = settings.neighbourhood
    alike = alike or near.compared(ratings, queries, sensitivity=True)
    predicted = np.empty(len(queries.users))
    for part in parts(ratings, queries, near.by):
        some = candidates(ratings, Queries(queries.users[part], queries.items[part]), near.by, alike)
        predicted[part] = near.predict_candidates(some, *settings.chosen(some, noise))
    return predicted


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
    lists = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    for row, target in enumerate(targets.tolist()):
        others = np.delete(all_others, target)
        target_candidates = Candidates(
            np.zeros(others.size, np.int64), alike.values[row, others], alike.sensitivity[row, others],
            np.zeros(others.size), np.zeros(1), np.zeros(1),
        )  # fmt: skip
        places, similarity = settings.chosen(target_candidates, noise)
        lists.append((np.full(places.size, target, np.int32), others[places], similarity))
    who, whom, how = (np.concatenate(column) for column in zip(*lists, strict=True))
    return who, whom, how
