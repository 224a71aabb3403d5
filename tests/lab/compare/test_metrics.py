"""Every metric on cases worked out by hand, and what must hold of all of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.lab.compare import metrics

Floats = NDArray[np.float64]


def array(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


TRUTH = array(10, 4, 0, 2)
RELEASED = array(7, 5, -2, 2)


def test_mean_squared_error() -> None:
    assert metrics.mean_squared_error(TRUTH, RELEASED) == (9 + 1 + 4 + 0) / 4


def test_mean_absolute_error() -> None:
    assert metrics.mean_absolute_error(TRUTH, RELEASED) == (3 + 1 + 2 + 0) / 4


def test_relative_error_divides_by_the_true_count_or_the_bound() -> None:
    expected = (3 / 10 + 1 / 4 + 2 / 3 + 0 / 3) / 4
    assert metrics.mean_relative_error(TRUTH, RELEASED, bound=3) == pytest.approx(expected, rel=1e-15)


def test_the_sanity_bound_is_a_thousandth_of_the_users() -> None:
    assert metrics.sanity_bound(6_040) == pytest.approx(6.04)
    assert metrics.sanity_bound(999) == 1.0


def test_kl_replaces_what_is_not_positive_by_a_hundredth_before_normalising() -> None:
    p = array(10, 4, 0.01, 2) / 16.01
    q = array(7, 5, 0.01, 2) / 14.01
    expected = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert metrics.kl_divergence(TRUTH, RELEASED) == pytest.approx(expected, rel=1e-12)


def test_kl_takes_the_original_as_the_reference() -> None:
    truth, released = array(3, 1), array(1, 1)
    assert metrics.kl_divergence(truth, released) == pytest.approx(
        0.75 * math.log(1.5) + 0.25 * math.log(0.5), rel=1e-12
    )
    assert metrics.kl_divergence(truth, released) != pytest.approx(metrics.kl_divergence(released, truth))


def test_precision_counts_what_both_tops_share() -> None:
    assert metrics.top_precision(array(9, 8, 7, 1, 0), array(1, 9, 8, 7, 0), k=3) == pytest.approx(2 / 3)
    assert metrics.top_precision(array(9, 8, 7, 1, 0), array(1, 9, 8, 7, 0), k=1) == 0.0


def test_equal_counts_are_ranked_at_random_not_by_the_catalogue() -> None:
    truth = array(9, 8, 7, 6)
    assert metrics.top_precision(truth, array(5, 5, 5, 5), k=1) == 0.25
    assert metrics.top_precision(truth[::-1], array(5, 5, 5, 5), k=1) == 0.25
    # the border of the released top lies among three equal counts, of which two places are left
    assert metrics.top_precision(truth, array(9, 3, 3, 3), k=3) == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    # the border of the true top ties as well
    assert metrics.top_precision(array(9, 4, 4, 0), array(9, 4, 3, 0), k=2) == pytest.approx((1 + 0.5) / 2)


def test_the_tie_rule_is_the_mean_over_random_orders() -> None:
    generator = np.random.default_rng(7)
    truth, released = array(5, 5, 3, 3, 3, 1), array(2, 4, 4, 4, 0, 4)
    values = []
    for _ in range(4000):
        tops = []
        for counts in (truth, released):
            order = np.lexsort((generator.random(counts.size), -counts))
            tops.append(set(order[:3].tolist()))
        values.append(len(tops[0] & tops[1]) / 3)
    # a mean of 4,000 draws within [0, 1]: off by 0.03 less than once in 10,000 times
    assert metrics.top_precision(truth, released, k=3) == pytest.approx(np.mean(values), abs=0.03)


def test_a_top_longer_than_the_list_is_the_list() -> None:
    assert metrics.top_precision(array(3, 1), array(0, 9), k=10) == 1.0


def test_contexts_are_averaged_and_empty_ones_left_out() -> None:
    truth = np.array([[5.0, 0.0, 1.0], [1.0, 0.0, 7.0]])
    released = np.array([[4.0, 3.0, 9.0], [2.0, 1.0, 8.0]])
    assert metrics.context_precision(truth, released, k=1) == 0.5
    assert math.isnan(metrics.context_precision(np.zeros((2, 3)), released, k=1))


def test_top_errors_use_the_true_top_alone() -> None:
    truth, released = array(10, 8, 1, 0), array(7, 9, 500, -500)
    assert metrics.top_absolute_error(truth, released, k=2) == 2.0
    assert metrics.top_relative_error(truth, released, k=2, bound=1) == pytest.approx((0.3 + 0.125) / 2)
    assert metrics.top_relative_error(truth, released, k=2, bound=20) == pytest.approx((3 / 20 + 1 / 20) / 2)
    tied = array(10, 4, 4)
    assert metrics.top_absolute_error(tied, array(10, 6, 4), k=2) == 0.5


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan")])
def test_a_bound_must_be_positive(bound: float) -> None:
    with pytest.raises(ValueError, match="sanity bound"):
        metrics.mean_relative_error(TRUTH, RELEASED, bound)
    with pytest.raises(ValueError, match="sanity bound"):
        metrics.top_relative_error(TRUTH, RELEASED, 1, bound)


@pytest.mark.parametrize("metric", [metrics.top_precision, metrics.context_precision, metrics.top_absolute_error])
def test_a_top_of_nothing_is_refused(metric: Callable[[Floats, Floats, int], float]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        metric(np.ones((2, 2)), np.ones((2, 2)), 0)


COUNTS = st.lists(st.integers(-3, 9), min_size=1, max_size=8).map(
    lambda numbers: np.array(numbers, dtype=np.float64)
)


@given(COUNTS, st.integers(1, 10))
def test_the_truth_itself_has_no_error(counts: Floats, k: int) -> None:
    assert metrics.mean_squared_error(counts, counts) == 0
    assert metrics.mean_relative_error(counts, counts, 1.0) == 0
    assert metrics.kl_divergence(counts, counts) == pytest.approx(0, abs=1e-12)
    assert metrics.top_absolute_error(counts, counts, k) == 0
    if np.unique(counts).size == counts.size:
        assert metrics.top_precision(counts, counts, k) == 1


@given(COUNTS, st.integers(1, 8))
def test_the_order_of_the_catalogue_changes_nothing(counts: Floats, k: int) -> None:
    order = np.random.default_rng(counts.size).permutation(counts.size)
    released = counts[::-1].copy()
    for metric in (metrics.top_precision, metrics.top_absolute_error):
        assert metric(counts, released, k) == pytest.approx(metric(counts[order], released[order], k))


@given(COUNTS, st.integers(1, 8))
def test_a_top_has_k_places(counts: Floats, k: int) -> None:
    places = metrics.in_top(counts, min(k, counts.size))
    assert places.sum() == pytest.approx(min(k, counts.size))
    assert places.min() >= 0
    assert places.max() <= 1
