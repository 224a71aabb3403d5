"""Where between two powers of two people are: what shares tell beyond the histogram. All draws are seeded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.adaptive.activity_histogram import EstimatedActivity, estimate
from headcount.adaptive.users_by_size import PeopleAtSizes, parts_at_sizes, people_at_sizes, spread_over
from headcount.bounds.counts.activity_bins import UPPER_ENDS, bin_of

Floats = NDArray[np.float64]
SIZES = UPPER_ENDS[2:10].astype(np.float64)


@given(st.lists(st.tuples(st.integers(5, 400), st.integers(1, 99)), min_size=1, max_size=20))
def test_people_are_put_around_their_size_in_such_parts_that_the_mean_is_theirs(
    drawn: list[tuple[int, int]],
) -> None:
    records, users = (np.array(each, dtype=np.float64) for each in zip(*drawn, strict=True))
    found = spread_over(EstimatedActivity(records, users), SIZES)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(users.sum())
    assert found @ SIZES == pytest.approx(users @ records)


def known_of(records: NDArray[np.int64], scale: float, noise: float, seed: int) -> PeopleAtSizes:
    """What is known of people with so many records each, from a noisy histogram and noisy shares."""
    random = np.random.default_rng(seed)
    bins = np.bincount(bin_of(records), minlength=UPPER_ENDS.size + 1)
    activity = estimate(bins + random.laplace(0, scale, bins.size), scale).above(4)
    exact = spread_over(EstimatedActivity(records.astype(np.float64), np.ones(records.size)), SIZES)
    return people_at_sizes(activity, SIZES, exact + random.laplace(0, noise, SIZES.size), 2 * noise**2)


@pytest.mark.parametrize("records", [33, 64])
def test_people_at_one_place_of_their_bin_are_found_there(records: int) -> None:
    """2,000 people, all with as many records: within 13 % (measured: 10 %), where the histogram alone says 46."""
    for seed in range(5):
        known = known_of(np.full(2_000, records), 40.0, 60.0, seed)
        assert known.people @ SIZES / known.people.sum() == pytest.approx(records, rel=0.13)


@pytest.mark.parametrize(("narrowed", "enough"), [(1.0, True), (1 / 3, False)])
def test_it_is_known_how_far_ratios_may_be_off(narrowed: float, enough: bool) -> None:
    """Of 1,000 crowds, 92 % have a ratio within 1.96 deviations of what is found; a third of that is too little.

    Measured: 96.6 %. So 92 % is 8 deviations off: less than one in a million, and the seeds are fixed.
    """
    inside = 0
    for seed in range(1_000):
        random = np.random.default_rng(seed)
        records = np.clip(np.rint(np.exp(random.normal(3.5, 0.8, 4_000))), 5, 400).astype(np.int64)
        known = known_of(records, 20.0, 30.0, seed)
        found = np.log((known.people @ SIZES) / known.people.sum() / records.mean())
        inside += abs(found) <= 1.96 * narrowed * known.relative_deviation(SIZES, np.ones(SIZES.size))
    assert (inside >= 920) == enough, inside


def test_where_there_is_hardly_anybody_nothing_is_known_and_nothing_breaks() -> None:
    """Noise on next to nobody made deviations of hundreds, and intervals overflowed."""
    known = PeopleAtSizes(np.full(2, 1e-9), np.diag([400.0, 400.0]))
    assert known.relative_deviation(np.array([1.0, 3.0]), np.ones(2)) == 1.0


def test_without_people_nothing_breaks() -> None:
    nobody = EstimatedActivity(np.array([5.0]), np.array([0.0]), 1.0)
    known = people_at_sizes(nobody, SIZES, np.full(SIZES.size, -3.0), 2.0)
    assert (known.people == 0).all()


def test_where_sizes_are_squares_people_are_found_to_add_less_the_larger_they_are() -> None:
    """A person of size n adds n^-1/2: what is found at each size is within a fifth of that, or of the noise."""
    random = np.random.default_rng(1)
    sizes = np.clip(np.rint(np.exp(random.normal(3.5, 0.8, 4_000))), 5, 400)
    people = EstimatedActivity(sizes, np.ones(sizes.size))
    exact = spread_over(EstimatedActivity(sizes, sizes**-0.5), SIZES)
    found = parts_at_sizes(people, SIZES, exact + random.laplace(0, 5, SIZES.size)).people
    assert (np.abs(found - exact) <= np.maximum(0.2 * exact, 15)).all()
    assert found.sum() < 0.3 * spread_over(people, SIZES).sum()
