"""Predicted error: monotone where it must be, and near what happens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.answers.activity import EstimatedActivity
from headcount.answers.prediction import MISPLACED, best_limit, misjudged, predicted_error
from headcount.answers.scaling import Norm

norms = st.sampled_from(("l1", "l2"))


@st.composite
def activities(draw: st.DrawFn) -> EstimatedActivity:
    size = draw(st.integers(1, 6))
    records = draw(st.lists(st.integers(1, 2_000), min_size=size, max_size=size, unique=True))
    users = draw(st.lists(st.floats(0.5, 5_000), min_size=size, max_size=size))
    return EstimatedActivity(np.sort(np.array(records, dtype=np.float64)), np.array(users))


@given(activities(), st.integers(1, 64), st.floats(0.01, 1e4), st.floats(1, 100), st.integers(1, 5_000), norms)
def test_more_noise_means_more_error(
    activity: EstimatedActivity, limit: int, deviation: float, times: float, cells: int, norm: Norm
) -> None:
    """And with it the error falls with ε; it never exceeds giving up all counts, but for what is misjudged."""
    for distinct in (True, False):
        less = predicted_error(activity, limit, deviation, cells, norm, distinct=distinct)
        more = predicted_error(activity, limit, deviation * times, cells, norm, distinct=distinct)
        given_up = predicted_error(activity, limit, 1e12, cells, norm, distinct=distinct)
        assert 0 <= less <= more * (1 + 1e-9)
        assert more <= given_up * (1 + 1e-9)


@given(activities(), st.floats(0.01, 100), st.integers(1, 5_000), norms)
def test_without_heavy_users_the_error_is_noise_or_the_counts_themselves(
    activity: EstimatedActivity, deviation: float, cells: int, norm: Norm
) -> None:
    for distinct in (True, False):
        error = predicted_error(activity, 2_000, deviation, cells, norm, distinct=distinct)
        assert error <= cells * deviation**2 * (1 + 1e-9)
        longer = predicted_error(activity, 4_000, deviation, cells, norm, distinct=distinct)
        assert error == pytest.approx(longer)


@given(activities(), st.integers(1, 64), st.integers(1, 500))
def test_with_no_noise_only_misjudging_is_left(activity: EstimatedActivity, limit: int, cells: int) -> None:
    heavy = activity.above(limit)
    error = predicted_error(activity, limit, 0.0, cells, "l1", distinct=False)
    most = misjudged(heavy, "l1") * heavy.total_records**2
    assert most / cells * (1 - 1e-9) - 1e-9 <= error <= most * (1 + 1e-9) + 1e-9
    placed = MISPLACED * heavy.misplaced**2
    assert misjudged(heavy, "l2") - placed == pytest.approx((misjudged(heavy, "l1") - placed) / 4, abs=1e-12)
    if np.unique(heavy.records).size <= 1:  # then only where in their bin they are is not known
        assert misjudged(heavy, "l1") == pytest.approx(placed)


def test_more_epsilon_calls_for_a_larger_limit() -> None:
    """With little noise it pays to count people in full; with so much that all is given up, nothing matters."""
    activity = EstimatedActivity(np.array([1.0, 5.0, 25.0, 125.0]), np.array([4_000.0, 2_000.0, 500.0, 50.0]))
    limits = [1 << k for k in range(10)]
    chosen = []
    for epsilon in (0.1, 1.0, 10.0, 1_000.0):
        errors = [
            predicted_error(activity, limit, 2**0.5 * limit / epsilon, 500, "l1", distinct=True)
            for limit in limits
        ]
        chosen.append(best_limit(limits, [errors]))
    assert chosen == sorted(chosen)
    assert chosen[0] == 1
    assert chosen[-1] >= 125


def test_several_tables_agree_on_the_geometric_mean() -> None:
    """The unit of a table's error does not matter."""
    limits, first, second = [1, 2, 4], [90.0, 4.0, 5.0], [8.0, 7.0, 7.5]
    assert best_limit(limits, [first, second]) == best_limit(limits, [first, [1e9 * each for each in second]]) == 2
    # 3 times as large in one table alone is 1.7 times as large in both: nearly as good
    assert best_limit(limits, [[12.0, 4.0, 5.0], [7.0, 7.0, 7.0]]) == 1
    assert best_limit(limits, [[0.0, 0.0, 0.0]]) == 1


def test_ranks_that_stand_for_many_leave_out_none() -> None:
    """Where noise is all, the error is that of every cell: as many as there are, far beyond 400 ranks."""
    plenty = EstimatedActivity(np.array([1_000.0]), np.array([1e9]))
    for cells in (1, 7, 400, 401, 12_345, 1_000_000):
        error = predicted_error(plenty, 1_000, 3.0, cells, "l1", distinct=False)
        assert error == pytest.approx(9.0 * cells)


def test_it_is_near_what_happens() -> None:
    """Laplace noise on Zipf counts, given up where noise is larger: within a factor of 2 of the best possible.

    5,000 people with one record each: the light group alone, over 10 seeds.
    """
    counts = 5_000 / np.arange(1, 1_001) / (1 / np.arange(1, 1_001)).sum()
    for scale in (2.0, 10.0, 50.0):
        noise = np.random.default_rng(1).laplace(0, scale, (10, 1_000))
        kept = counts > 2**0.5 * scale  # an oracle's choice
        happens = (np.where(kept, noise, counts) ** 2).sum(axis=1).mean()
        activity = EstimatedActivity(np.array([1.0]), np.array([5_000.0]))
        told = predicted_error(activity, 1, 2**0.5 * scale, 1_000, "l1", distinct=False)
        assert 0.5 < told / happens < 2
