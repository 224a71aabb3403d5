"""PNCF as published: near the plain method for a huge ε, and a release that says that its claim does not hold."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.lab.as_published import pncf
from headcount.lab.as_published.pncf import Settings, neighbour_lists
from headcount.lab.as_published.pncf_operations import Mechanism
from headcount.lab.recommender import neighbourhood
from headcount.lab.recommender.candidates import SIDES, By, Queries
from headcount.lab.recommender.neighbourhood import Neighbourhood
from headcount.lab.recommender.similarity import METRICS, Metric
from headcount.noise import SeededNoise
from tests.lab.recommender import synthetic_ratings


def published(by: By, metric: Metric, k: int, epsilon: float) -> Settings:
    return Settings(neighbourhood=Neighbourhood(by=by, metric=metric, k=k), mechanism=Mechanism(epsilon=epsilon))


def queries(users: int = 30, items: int = 12) -> Queries:
    who, what = np.divmod(np.arange(users * items, dtype=np.int32), items)
    return Queries(who.astype(np.int32), what.astype(np.int32))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("by", SIDES)
def test_with_a_huge_epsilon_and_global_sensitivity_it_is_the_plain_method(by: By, metric: Metric) -> None:
    ratings = synthetic_ratings.ratings(
        2, share=0.8, step=0.1
    )  # hardly any two similarities are equal, and none is undefined
    settings = Settings(
        neighbourhood=Neighbourhood(by=by, metric=metric, k=3),
        mechanism=Mechanism(epsilon=1e9, sensitivity="global", truncated=False),
    )
    predicted = pncf.predict(ratings, queries(), settings, SeededNoise(1))
    expected = neighbourhood.predict(ratings, queries(), settings.neighbourhood)
    assert np.abs(predicted - expected).max() < 1e-3
    assert np.abs(predicted - ratings.means[queries().users]).mean() > 0.05


def test_a_small_epsilon_disturbs_more_and_noise_decides_alone() -> None:
    ratings = synthetic_ratings.ratings(2)
    exact = neighbourhood.predict(ratings, queries(), Neighbourhood(k=3))
    apart = [
        np.abs(
            pncf.predict(ratings, queries(), published("item", "cos", 3, epsilon), SeededNoise(3)) - exact
        ).mean()
        for epsilon in (0.1, 10.0, 1000.0)
    ]
    assert apart[0] > apart[1] > apart[2]
    first, again = (
        pncf.predict(ratings, queries(), published("item", "cos", 3, 1.0), SeededNoise(3)) for _ in range(2)
    )
    assert np.array_equal(first, again)


def test_lists_hold_k_other_items_per_item() -> None:
    settings = published("item", "cos", 4, 1.0)
    alike = settings.neighbourhood.compared(synthetic_ratings.ratings(4), sensitivity=True)
    who, whom, _ = neighbour_lists(alike, np.array([3, 0], dtype=np.int32), settings, SeededNoise(1))
    assert who.tolist() == [3] * 4 + [0] * 4
    for target in (3, 0):
        neighbours = whom[who == target].tolist()
        assert target not in neighbours
        assert len(set(neighbours)) == 4


@pytest.mark.parametrize("by", SIDES)
def test_recommendations_come_from_drawn_neighbours(by: By) -> None:
    ratings = synthetic_ratings.ratings(9, users=40, share=0.5)
    sure = pncf.recommend(ratings, 0, published(by, "cos", 5, 1e9), 3, SeededNoise(1))
    assert set(sure.tolist()).isdisjoint(ratings.of_user(0)[0].tolist())
    drawn = {
        tuple(pncf.recommend(ratings, 0, published(by, "cos", 5, 0.5), 3, SeededNoise(seed)).tolist())
        for seed in range(8)
    }
    assert len(drawn) > 1
