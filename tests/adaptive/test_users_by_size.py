"""Where between two powers of two people are: what shares tell beyond the histogram. All draws are seeded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.adaptive.activity_histogram import EstimatedActivity, estimate_activity
from headcount.adaptive.scale_up import (
    UsersBySize,
    estimate_users_by_size,
    fit_fractional_users,
    interpolate_users,
)
from headcount.bounds.counts.activity_histogram import UPPER_ENDS, bin_of

Floats = NDArray[np.float64]
SIZES = UPPER_ENDS[2:10].astype(np.float64)


@given(st.lists(st.tuples(st.integers(5, 400), st.integers(1, 99)), min_size=1, max_size=20))
def test_users_are_divided_between_sizes_with_their_mean_kept(
    drawn: list[tuple[int, int]],
) -> None:
    records, users = (np.array(values, dtype=np.float64) for values in zip(*drawn, strict=True))
    users_by_size = interpolate_users(EstimatedActivity(records, users), SIZES)
    assert (users_by_size >= 0).all()
    assert users_by_size.sum() == pytest.approx(users.sum())
    assert users_by_size @ SIZES == pytest.approx(users @ records)


def users_at_sizes_of(records: NDArray[np.int64], scale: float, noise: float, seed: int) -> UsersBySize:
    """What is known of people with so many records each, from a noisy histogram and noisy shares."""
    random = np.random.default_rng(seed)
    bins = np.bincount(bin_of(records), minlength=UPPER_ENDS.size + 1)
    activity = estimate_activity(bins + random.laplace(0, scale, bins.size), scale).above(4)
    exact = interpolate_users(EstimatedActivity(records.astype(np.float64), np.ones(records.size)), SIZES)
    return estimate_users_by_size(activity, SIZES, exact + random.laplace(0, noise, SIZES.size), 2 * noise**2)


@pytest.mark.parametrize("records", [33, 64])
def test_users_at_one_place_of_a_bin_are_estimated_there(records: int) -> None:
    """2,000 people, all with as many records: within 13 % (measured: 10 %), where the histogram alone says 46."""
    for seed in range(5):
        estimate = users_at_sizes_of(np.full(2_000, records), 40.0, 60.0, seed)
        assert estimate.users @ SIZES / estimate.users.sum() == pytest.approx(records, rel=0.13)


@pytest.mark.parametrize(("narrowed", "enough"), [(1.0, True), (1 / 3, False)])
def test_ratio_deviations_cover_the_error(narrowed: float, enough: bool) -> None:
    """Of 1,000 crowds, 92 % have a ratio within 1.96 deviations of what is found; a third of that is too little.

    Measured: 96.6 %. So 92 % is 8 deviations off: less than one in a million, and the seeds are fixed.
    """
    inside = 0
    for seed in range(1_000):
        random = np.random.default_rng(seed)
        records = np.clip(np.rint(np.exp(random.normal(3.5, 0.8, 4_000))), 5, 400).astype(np.int64)
        estimate = users_at_sizes_of(records, 20.0, 30.0, seed)
        log_error = np.log((estimate.users @ SIZES) / estimate.users.sum() / records.mean())
        inside += abs(log_error) <= 1.96 * narrowed * estimate.relative_deviation(SIZES, np.ones(SIZES.size))
    assert (inside >= 920) == enough, inside


def test_with_hardly_any_users_deviations_stay_finite() -> None:
    """Noise on next to nobody made deviations of hundreds, and intervals overflowed."""
    estimate = UsersBySize(np.full(2, 1e-9), np.diag([400.0, 400.0]))
    assert estimate.relative_deviation(np.array([1.0, 3.0]), np.ones(2)) == 1.0


def test_an_empty_log_gives_finite_estimates() -> None:
    nobody = EstimatedActivity(np.array([5.0]), np.array([0.0]), 1.0)
    estimate = estimate_users_by_size(nobody, SIZES, np.full(SIZES.size, -3.0), 2.0)
    assert (estimate.users == 0).all()


def test_with_squares_heavier_users_count_for_less() -> None:
    """A person of size n adds n^-1/2: what is found at each size is within a fifth of that, or of the noise."""
    random = np.random.default_rng(1)
    sizes = np.clip(np.rint(np.exp(random.normal(3.5, 0.8, 4_000))), 5, 400)
    people = EstimatedActivity(sizes, np.ones(sizes.size))
    exact = interpolate_users(EstimatedActivity(sizes, sizes**-0.5), SIZES)
    users_by_size = fit_fractional_users(people, SIZES, exact + random.laplace(0, 5, SIZES.size)).users
    assert (np.abs(users_by_size - exact) <= np.maximum(0.2 * exact, 15)).all()
    assert users_by_size.sum() < 0.3 * interpolate_users(people, SIZES).sum()
