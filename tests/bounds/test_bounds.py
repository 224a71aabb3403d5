"""Bounds: their sensitivity, their ranks, and the seal on what they make."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import (
    ALL_USERS,
    FIXED_POINT,
    ActivityHistogram,
    Bounded,
    CountBound,
    KeepTopScored,
    Noisy,
    SampleRecords,
    Scored,
    Sensitivity,
    WeightToThreshold,
    check_limit,
)
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.scores.candidate_scores import capped_total_scores
from headcount.errors import UsageError
from tests.support.small_logs import LAW


@given(st.integers(1, 2**31 - 1))
def test_sensitivity_of_a_bound(limit: int) -> None:
    """All kept records may hit one cell; a user counts once a cell where users are counted."""
    for bound in (
        SampleRecords(limit),
        SampleUsers(limit, ALL_USERS // 3),
        KeepTopScored(limit, Noisy(np.zeros(2, dtype=np.int64), LAW)),
    ):
        assert bound.sensitivity("records") == Sensitivity(l1=limit, l2_squared=limit**2, linf=limit)
        assert bound.sensitivity("users") == Sensitivity(l1=limit, l2_squared=limit, linf=1)
        assert bound.sensitivity("records").l2 == pytest.approx(limit)


@given(st.integers(1, 2**31 - 1))
def test_sensitivity_of_weights_is_that_of_a_sample_in_their_units(limit: int) -> None:
    for counting in ("records", "users"):
        whole = SampleRecords(limit).sensitivity(counting)
        parts = WeightToThreshold(limit).sensitivity(counting)
        assert parts.l1 == FIXED_POINT * whole.l1
        assert parts.l2_squared == FIXED_POINT**2 * whole.l2_squared
        assert parts.linf == FIXED_POINT * whole.linf


@given(st.integers(1, 10**6), st.integers(1, 2**31 - 1), st.integers(1, 30))
def test_weights_of_a_user_stay_within_the_limit(records: int, limit: int, cells: int) -> None:
    """However a user's n records lie on cells: the weights that are promised keep all three distances."""
    weight = FIXED_POINT * min(limit, records) // records
    reach = WeightToThreshold(limit).sensitivity("records")
    assert records * weight <= reach.l1
    assert (records * weight) ** 2 <= reach.l2_squared  # all in one cell
    assert records * weight <= reach.linf
    reach = WeightToThreshold(limit).sensitivity("users")
    weight = FIXED_POINT * min(limit, cells) // cells  # once in each of so many cells
    assert cells * weight <= reach.l1
    assert cells * weight**2 <= reach.l2_squared
    assert weight <= reach.linf


@given(st.integers(1, 2**31 - 1), st.integers(1, 10**6), st.integers(1, 10**6))
def test_roots_of_a_user_stay_within_the_limit(limit: int, cells: int, more: int) -> None:
    """Where the sum of squares is limited: k cells at √(limit / k), which is furthest in L1 with every cell."""
    reach = WeightToThreshold(limit, norm="l2").sensitivity("users", cells + more)
    assert reach.l2_squared == FIXED_POINT**2 * limit
    assert reach.linf == FIXED_POINT
    in_l1 = reach.l1 // FIXED_POINT
    assert reach.l1 == in_l1 * FIXED_POINT
    assert (in_l1 - 1) ** 2 < limit * (cells + more) <= in_l1**2
    squared = FIXED_POINT**2 * min(limit, cells) // cells  # of each weight, in so many of the cells
    assert cells * squared <= reach.l2_squared
    assert cells**2 * squared <= reach.l1**2
    assert squared <= reach.linf**2


@given(st.integers(1, 2**31 - 1), st.integers(1, 10**6), st.integers(1, 10**6))
def test_roots_of_records_stay_within_the_limit(limit: int, records: int, cells: int) -> None:
    """All n records of a user in one cell weigh n · √(limit / n²), which is the root of the limit."""
    reach = WeightToThreshold(limit, norm="l2").sensitivity("records", cells)
    assert reach.l2_squared == FIXED_POINT**2 * limit
    squared = FIXED_POINT**2 * min(limit, records**2) // records**2
    assert records**2 * squared <= min(reach.linf, reach.l1) ** 2
    assert reach.linf < FIXED_POINT * (limit**0.5 + 1), "more than is needed"


@pytest.mark.parametrize("counting", ["records", "users"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_limited_sum_of_squares_hangs_on_the_columns(apart: bool, counting: Any) -> None:
    bound = WeightToThreshold(3, norm="l2", apart=apart)
    shape = (2, 2) if apart else (2,)
    items, edges = np.zeros(shape, dtype=np.int64), np.zeros((*shape, 3), dtype=np.int64)
    with pytest.raises(ValueError, match="as far as there are columns"):
        bound.sensitivity(counting)
    counts = bound.seal(counting, items, edges)
    # a user is in one of two tables: they have the columns of one
    assert counts.items.sensitivity == bound.sensitivity(counting, 2)
    assert counts.edges.sensitivity == bound.sensitivity(counting, 6)
    assert (counts.items.shape, counts.edges.shape) == (items.shape, edges.shape)


@given(st.integers(1, 2**31 - 1), st.sampled_from(("records", "users")))
def test_two_tables_move_counts_no_further(limit: int, counting: Any) -> None:
    plain = WeightToThreshold(limit).sensitivity(counting)
    bound = WeightToThreshold(limit, apart=True)
    assert bound.sensitivity(counting) == plain
    counts = bound.seal(counting, np.zeros((2, 2), dtype=np.int64), np.zeros((2, 2, 1), dtype=np.int64))
    assert counts.items.sensitivity == counts.edges.sensitivity == plain


@pytest.mark.parametrize("limit", [0, -1, 1.0, "1", True, None, 2**31, np.int64(3)], ids=repr)
def test_a_limit_is_a_positive_whole_number(limit: Any) -> None:
    for use in (
        SampleRecords,
        WeightToThreshold,
        check_limit,
        lambda given: SampleUsers(given, ALL_USERS),
        lambda given: KeepTopScored(given, Noisy(np.zeros(1, dtype=np.int64), LAW)),
    ):
        with pytest.raises(UsageError, match="limit must be a whole number of at least 1"):
            use(limit)


@pytest.mark.parametrize("admission", [-1, ALL_USERS + 1, 10**30, True, 0.5])
def test_an_admission_is_a_part_of_everyone(admission: Any) -> None:
    with pytest.raises(UsageError, match=r"admission must be a whole number between 0 and 2\^64"):
        SampleUsers(1, admission)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30))
def test_ranks_are_dense_best_first_and_ties_equal(scores: list[int]) -> None:
    ranks = KeepTopScored(1, Noisy(np.array(scores), LAW)).ranks
    assert ranks is not None
    order = sorted(set(scores), reverse=True)
    assert ranks.tolist() == [order.index(score) for score in scores]


@pytest.mark.parametrize("bound", [SampleRecords(1), WeightToThreshold(1), SampleUsers(1, 5)], ids=repr)
def test_only_a_pick_ranks(bound: Any) -> None:
    assert bound.ranks is None


@pytest.mark.parametrize(
    "bound",
    [
        SampleRecords(1),
        KeepTopScored(1, Noisy(np.zeros(2, dtype=np.int64), LAW)),
        SampleUsers(1, 5),
        WeightToThreshold(1),
    ],
)
def test_only_weights_that_say_so_stand_apart(bound: CountBound) -> None:
    assert (bound.norm, bound.apart) == ("l1", False)


def test_what_bounds_make_carries_its_unit_and_admission() -> None:
    expected: list[tuple[CountBound, int, Fraction]] = [
        (SampleRecords(2), 1, Fraction(1)),
        (WeightToThreshold(2), FIXED_POINT, Fraction(1)),
        (SampleUsers(2, ALL_USERS // 4), 1, Fraction(1, 4)),
    ]
    for bound, unit, admission in expected:
        counts = bound.seal("records", np.array([1, 2]), np.array([[1], [2]]))
        for table in (counts.items, counts.edges):
            assert (table.unit, table.admission) == (unit, admission)
            assert table.sensitivity == bound.sensitivity("records")


@pytest.mark.parametrize("seal", [None, object(), "seal", Bounded])
def test_bounded_values_cannot_be_forged(seal: object) -> None:
    with pytest.raises(TypeError, match="made by bounds alone"):
        Bounded(np.zeros(3, dtype=np.int64), Sensitivity(1, 1, 1), seal)
    with pytest.raises(TypeError, match=r"made by headcount\.bounds alone"):
        Scored(np.zeros(3, dtype=np.int64), 1, seal)


def test_bounded_values_are_immutable_and_hidden() -> None:
    counts = SampleRecords(2).seal("records", np.array([3, 4141]), np.array([[3], [4141]]))
    with pytest.raises(ValueError, match="read-only"):
        counts.items.sensitive_values[0] = 9
    assert counts.items.shape == (2,)
    assert counts.edges.shape == (2, 1)
    assert "4141" not in repr(counts.items) + str(counts)
    assert not hasattr(counts.items, "__dict__")
    assert counts.items.sensitivity == Sensitivity(2, 4, 2)


def test_the_sensitivity_cannot_be_replaced() -> None:
    counts = SampleRecords(3).seal("records", np.array([1, 2]), np.array([[1], [2]]))
    with pytest.raises(AttributeError):
        counts.items.sensitivity = Sensitivity(l1=1, l2_squared=1, linf=1)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        counts.items.sensitive_values[0] = 7
    for name in ("unit", "admission"):
        with pytest.raises(AttributeError):
            setattr(counts.items, name, 7)


def test_activity_is_sealed_too() -> None:
    activity = ActivityHistogram("items", 2).seal(np.array([4141, 2]))
    assert activity.sensitivity == Sensitivity(l1=1, l2_squared=1, linf=1)
    assert activity.unit == activity.admission == 1
    with pytest.raises(ValueError, match="read-only"):
        activity.sensitive_values[0] = 9
    assert "4141" not in repr(activity)


def test_scored_candidates_are_immutable_and_hidden() -> None:
    scored = capped_total_scores(ActivityHistogram("items", 3).seal(np.array([0, 0, 4141])), 1, Fraction(1))
    with pytest.raises(ValueError, match="read-only"):
        scored.sensitive_gaps[0] = 9
    with pytest.raises(AttributeError):
        scored.spread = 1  # type: ignore[misc]
    assert (scored.size, scored.spread) == (3, 2)
    assert scored.sensitive_gaps.tolist() == [2 * 4140, 4140, 0]
    assert "414" not in repr(scored)
    assert not hasattr(scored, "__dict__")
