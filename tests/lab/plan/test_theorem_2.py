"""Theorem 2 of Fan and Jin: the closed form against what it claims to be, and where its words go too far."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.threshold_choice import zipf
from headcount.lab.plan.predicted_errors import Figures, predictions, theorem_2
from headcount.lab.plan.theorem_2 import Alike
from headcount.methods.prediction.errors import TableShape, lognormal_activity

WORLDS = [(n, m, p) for n in (3, 100, 5000) for m in (1, 20, 300) for p in (1e-6, 0.002, 0.3, 0.9)]


def one_item(users: float, records: float, popularity: float) -> Alike:
    return Alike(users=users, records=records, copies=np.ones(1), popularities=np.array([popularity]))


def printed_error(limit: float, n: float, m: float, p: float, epsilon: float) -> float:
    """Eq. 21, as printed."""
    return n * limit * p * (1 - p * limit / m) + 2 * limit**2 / epsilon**2 + (n * limit * p - n * m * p) ** 2


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_eq_22_is_where_eq_21_is_lowest(epsilon: float) -> None:
    for n, m, p in WORLDS:
        alike = one_item(n, m, p)
        printed = (2 * n**2 * p**2 * m - n * p) / (4 / epsilon**2 - 2 * n * p**2 / m + 2 * n**2 * p**2)
        assert alike.lowest(epsilon) == pytest.approx(printed)
        assert alike.error(0.7 * m, epsilon) == pytest.approx(printed_error(0.7 * m, n, m, p, epsilon))
        minimum = optimize.minimize_scalar(printed_error, args=(n, m, p, epsilon))
        assert alike.lowest(epsilon) == pytest.approx(minimum.x, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 5.0])
def test_over_all_items_no_other_limit_is_better(epsilon: float) -> None:
    """Every whole limit that there is, tried one by one, over items of very different popularity."""
    copies, popularities = zipf(2000)
    alike = Alike(users=700, records=60.5, copies=copies, popularities=popularities)
    errors = {limit: alike.error(limit, epsilon) for limit in range(1, 61)}
    assert alike.limit(epsilon) == min(errors, key=lambda limit: errors[limit])


def test_it_rises_with_epsilon_only_where_items_have_records() -> None:
    """The theorem says always; of an item with less than half a record the lowest point is below 0, and falls."""
    for n, m, p in WORLDS:
        alike = one_item(n, m, p)
        places = [alike.lowest(epsilon) for epsilon in (0.1, 1.0, 10.0)]
        assert places == sorted(places, reverse=n * m * p < 0.5)
        assert 1 <= alike.limit(1.0) <= m


def test_every_user_is_taken_for_the_average_user() -> None:
    """Half have 10 and half 30 records: 20 each, and the items as popular as they were."""
    shape = TableShape(EstimatedActivity(np.array([10.0, 30.0]), np.array([50.0, 50.0])), 8)
    alike = Alike.from_shape(shape)
    assert (alike.users, alike.records) == (100, 20)
    assert alike.copies @ alike.popularities == pytest.approx(1.0)
    assert alike.popularities.tolist() == pytest.approx(zipf(8)[1].tolist())


def test_every_table_spends_its_own_part_of_epsilon() -> None:
    shapes = {"items": TableShape(lognormal_activity(5000, 20, 600), 400)}
    alone, halved = Figures(shapes=shapes), Figures(shapes={**shapes, "edges": shapes["items"]}, width=8)
    assert theorem_2(alone, "items", "0.05") == theorem_2(halved, "items", "0.1")
    assert theorem_2(alone, "items", "0.05") < theorem_2(alone, "items", "0.1")


def test_without_users_the_minimum_is_kept() -> None:
    nobody = TableShape(EstimatedActivity(np.array([1.0, 2.0]), np.zeros(2)), 8)
    assert theorem_2(Figures(shapes={"items": nobody}), "items", "1") == 1


def test_predictions_of_sra_tell_it_and_no_others() -> None:
    figures = Figures(shapes={"items": TableShape(lognormal_activity(5000, 20, 600), 400)})
    by_method = {prediction.method: prediction.theorem_2 for prediction in predictions(figures, "0.05", [1, 3])}
    assert by_method.pop("sra") == theorem_2(figures, "items", "0.05")
    assert set(by_method.values()) == {None}
