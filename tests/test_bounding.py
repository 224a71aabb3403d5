"""Bounds: their sensitivity, their ranks, and the seal on what they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounding import Bounded, Noisy, Pick, Sample, Sensitivity, certify, check_limit, sensitivity
from headcount.errors import UsageError
from tests.cases import LAW


@given(st.integers(1, 2**31 - 1))
def test_sensitivity_of_a_bound(limit: int) -> None:
    """All kept records may hit one cell; a user counts once a cell where users are counted."""
    for bound in (Sample(limit), Pick(limit, Noisy(np.zeros(2, dtype=np.int64), LAW))):
        assert sensitivity(bound, "records") == Sensitivity(l1=limit, l2_squared=limit**2, linf=limit)
        assert sensitivity(bound, "users") == Sensitivity(l1=limit, l2_squared=limit, linf=1)
        assert sensitivity(bound, "records").l2 == pytest.approx(limit)


@pytest.mark.parametrize("limit", [0, -1, 1.0, "1", True, None, 2**31, np.int64(3)], ids=repr)
def test_a_limit_is_a_positive_whole_number(limit: Any) -> None:
    for use in (Sample, check_limit, lambda given: Pick(given, Noisy(np.zeros(1, dtype=np.int64), LAW))):
        with pytest.raises(UsageError, match="limit must be a whole number of at least 1"):
            use(limit)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30))
def test_ranks_are_dense_best_first_and_ties_equal(scores: list[int]) -> None:
    ranks = Pick(1, Noisy(np.array(scores), LAW)).ranks
    assert ranks is not None
    order = sorted(set(scores), reverse=True)
    assert ranks.tolist() == [order.index(score) for score in scores]


def test_a_sample_ranks_nothing() -> None:
    assert Sample(1).ranks is None


@pytest.mark.parametrize("seal", [None, object(), "seal", Bounded])
def test_bounded_values_cannot_be_forged(seal: object) -> None:
    with pytest.raises(TypeError, match="made by bounds alone"):
        Bounded(np.zeros(3, dtype=np.int64), Sensitivity(1, 1, 1), seal)


def test_bounded_values_cannot_be_changed_or_seen() -> None:
    counts = certify(Sample(2), "records", np.array([3, 4141]), np.array([[3], [4141]]))
    with pytest.raises(ValueError, match="read-only"):
        counts.items.sensitive_values[0] = 9
    assert counts.items.shape == (2,)
    assert counts.edges.shape == (2, 1)
    assert "4141" not in repr(counts.items) + str(counts)
    assert not hasattr(counts.items, "__dict__")
    assert counts.items.sensitivity == Sensitivity(2, 4, 2)


def test_nobody_can_declare_another_sensitivity_afterwards() -> None:
    counts = certify(Sample(3), "records", np.array([1, 2]), np.array([[1], [2]]))
    with pytest.raises(AttributeError):
        counts.items.sensitivity = Sensitivity(l1=1, l2_squared=1, linf=1)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        counts.items.sensitive_values[0] = 7
