"""Factors fitted anew: what sums without noise say is found, and noise draws them towards nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.methods.recommender.als_refit import refined

Numbers = NDArray[np.float64]

DEPTH = 3


def made_up(people: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return factors and raters of 40 items, and the sums of people who rate without chance."""
    rng = np.random.default_rng(3)
    factors = rng.normal(0, 0.3, (40, DEPTH))
    raters = rng.integers(people // 2, people, 40)
    squares = raters[:, None, None] * np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
    liked = np.einsum("ikl,il->ik", squares, factors)
    products = squares.sum(axis=0)[np.triu_indices(DEPTH)] / 256
    return factors, raters.astype(np.float64), np.concatenate([liked.ravel(), products])


def test_what_many_people_say_is_found() -> None:
    factors, raters, sums = made_up(4_000)
    assert refined(sums, 1.0, raters, factors) == pytest.approx(factors, abs=0.02)


def test_how_strongly_support_counted_makes_no_difference() -> None:
    factors, raters, sums = made_up(400)
    assert refined(sums, 1.0, raters, factors) == pytest.approx(refined(sums, 1.0, raters / 7, factors))


@pytest.mark.parametrize("deviation", [10.0, 1000.0])
def test_noise_draws_them_towards_nothing(deviation: float) -> None:
    factors, raters, sums = made_up(400)
    clear, doubtful = (refined(sums, each, raters, factors) for each in (1.0, deviation))
    assert (np.linalg.norm(doubtful, axis=1) < np.linalg.norm(clear, axis=1)).all()


def test_items_that_nobody_rated_have_none_and_nothing_warns() -> None:
    factors, raters, sums = made_up(100)
    raters[7] = 0.0
    assert not refined(sums, 5.0, raters, factors)[7].any()
    assert not refined(-np.abs(sums), 0.0, 0 * raters, factors).any()
    assert np.isfinite(refined(sums, 0.0, raters, factors)).all()
