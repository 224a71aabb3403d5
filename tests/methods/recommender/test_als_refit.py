"""Factors fitted anew: what sums without noise say is found, and noise draws them towards nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.methods.recommender.rating_prediction import refit_factors

Numbers = NDArray[np.float64]

DEPTH = 3


def synthetic_ratings(people: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return factors and raters of 40 items, and the sums of people who rate without chance."""
    rng = np.random.default_rng(3)
    factors = rng.normal(0, 0.3, (40, DEPTH))
    raters = rng.integers(people // 2, people, 40)
    squares = raters[:, None, None] * np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
    liked = np.einsum("ikl,il->ik", squares, factors)
    products = squares.sum(axis=0)[np.triu_indices(DEPTH)] / 256
    return factors, raters.astype(np.float64), np.concatenate([liked.ravel(), products])


def test_a_common_rating_pattern_is_estimated() -> None:
    factors, raters, sums = synthetic_ratings(4_000)
    assert refit_factors(sums, 1.0, raters, factors) == pytest.approx(factors, abs=0.02)


def test_how_strongly_support_counted_makes_no_difference() -> None:
    factors, raters, sums = synthetic_ratings(400)
    assert refit_factors(sums, 1.0, raters, factors) == pytest.approx(
        refit_factors(sums, 1.0, raters / 7, factors)
    )


@pytest.mark.parametrize("deviation", [10.0, 1000.0])
def test_noise_draws_them_towards_nothing(deviation: float) -> None:
    factors, raters, sums = synthetic_ratings(400)
    clear, doubtful = (
        refit_factors(sums, noise_deviation, raters, factors) for noise_deviation in (1.0, deviation)
    )
    assert (np.linalg.norm(doubtful, axis=1) < np.linalg.norm(clear, axis=1)).all()


def test_unrated_items_get_zero_factors_without_warnings() -> None:
    factors, raters, sums = synthetic_ratings(100)
    raters[7] = 0.0
    assert not refit_factors(sums, 5.0, raters, factors)[7].any()
    assert not refit_factors(-np.abs(sums), 0.0, 0 * raters, factors).any()
    assert np.isfinite(refit_factors(sums, 0.0, raters, factors)).all()
