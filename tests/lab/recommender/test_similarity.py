"""Similarity on co-rated sets and its sensitivity, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import GLOBAL, METRICS, Metric, similarity
from tests.lab.recommender import synthetic_ratings


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("step", [1.0, 0.5])
def test_all_pairs_are_as_defined(metric: Metric, step: float) -> None:
    ratings = synthetic_ratings.ratings(seed=5, share=0.25, step=step)
    similarities = similarity(ratings, metric, overlap=True, sensitivity=True)
    sparse = 0
    for i in range(ratings.n_items):
        for j in range(ratings.n_items):
            if i == j:
                continue
            left, right = synthetic_ratings.co_rated(ratings, i, j)
            assert similarities.values[i, j] == pytest.approx(
                synthetic_ratings.alike(left, right, metric), abs=1e-9
            )
            assert similarities.overlap[i, j] == len(left)
            if len(left) < 2:
                sparse += 1
                assert similarities.sensitivity[i, j] == 1.0
            elif metric == "pcc":
                assert similarities.sensitivity[i, j] == pytest.approx(
                    max(synthetic_ratings.changes(left, right, metric)), abs=1e-9
                )
            else:
                assert similarities.sensitivity[i, j] == pytest.approx(
                    synthetic_ratings.lemma_1(left, right), abs=1e-9
                )
    assert sparse > 5


@pytest.mark.parametrize("metric", METRICS)
def test_sensitivity_bounds_every_change_and_never_exceeds_the_global_one(metric: Metric) -> None:
    ratings = synthetic_ratings.ratings(seed=6, share=0.3)
    similarities = similarity(ratings, metric, sensitivity=True)
    for i in range(ratings.n_items):
        for j in set(range(ratings.n_items)) - {i}:
            left, right = synthetic_ratings.co_rated(ratings, i, j)
            if len(left) > 1:
                assert similarities.sensitivity[i, j] >= max(synthetic_ratings.changes(left, right, metric)) - 1e-9
            assert similarities.sensitivity[i, j] <= GLOBAL[metric]


def test_a_case_by_hand() -> None:
    """Two items, three co-raters: (4, 5), (2, 1), (3, 3); a fourth user rated one alone and does not count."""
    users, items, values = [0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 0, 1, 0], [4, 5, 2, 1, 3, 3, 5]
    ratings = Ratings.from_pairs(users, items, values, n_items=2)
    assert similarity(ratings, "pcc").values[0, 1] == pytest.approx(1.0)
    assert similarity(ratings, "cos").values[0, 1] == pytest.approx(31 / np.sqrt(29 * 35))
    assert similarity(ratings, "cos").values[0, 0] == 0.0


def test_some_rows_and_users_are_the_same_as_in_the_whole() -> None:
    ratings = synthetic_ratings.ratings(seed=7)
    targets = np.array([4, 1], dtype=np.int32)
    whole, some = (
        similarity(ratings, "pcc", targets=selected, overlap=True, sensitivity=True)
        for selected in (None, targets)
    )
    for name in ("values", "overlap", "sensitivity"):
        assert np.array_equal(getattr(whole, name)[targets], getattr(some, name))
    assert np.array_equal(whole.values, whole.values.T)
