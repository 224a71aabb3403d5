"""Edges given their items: they sum to them where records count, and take from both sides what each knows.

All draws are seeded, so that tests come out the same in every run; tolerances say what was measured.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.adaptive.item_context_estimates import estimate_item_contexts
from headcount.adaptive.posterior import Posterior

Floats = NDArray[np.float64]

variances = st.floats(0.01, 1e5)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Posterior, Floats]:
    """Item counts, none negative, with any intervals around them, and measured edges."""
    items, contexts = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    mean, below, above = (
        np.array(draw(st.lists(st.integers(0, 500), min_size=items, max_size=items)), dtype=np.float64)
        for _ in range(3)
    )
    cells = st.lists(st.integers(-300, 500), min_size=items * contexts, max_size=items * contexts)
    measured = np.array(draw(cells), dtype=np.float64).reshape(items, contexts)
    return Posterior(mean, np.maximum(mean - below, 0.0), mean + above), measured


@given(tables(), variances, st.booleans())
def test_item_contexts_are_non_negative_and_inside_their_intervals(
    table: tuple[Posterior, Floats], variance: float, sums: bool
) -> None:
    edges = estimate_item_contexts(*table, variance, sums=sums)
    assert np.isfinite([edges.mean, edges.low, edges.high]).all()
    assert (edges.low >= 0).all()
    assert ((edges.low <= edges.mean) & (edges.mean <= edges.high)).all()


@given(tables(), variances)
def test_item_contexts_of_records_sum_to_their_item(table: tuple[Posterior, Floats], variance: float) -> None:
    items, _ = table
    edges = estimate_item_contexts(*table, variance, sums=True)
    assert np.allclose(edges.mean.sum(axis=1), items.mean, atol=1e-6)


@given(tables(), st.booleans())
def test_what_is_measured_exactly_and_agrees_stays(table: tuple[Posterior, Floats], sums: bool) -> None:
    measured = np.abs(table[1]) + 1
    total = measured.sum(axis=1)
    edges = estimate_item_contexts(Posterior(total, total, total), measured, 1e-9, sums=sums)
    assert edges.mean == pytest.approx(measured, abs=1e-3)


@pytest.mark.parametrize("sums", [True, False])
def test_what_is_hardly_measured_follows_its_item(sums: bool) -> None:
    """By the shares of the contexts, of which items of 80 people say sixteen times as much as those of 20."""
    items = Posterior(np.array([80.0, 20.0]), np.zeros(2), np.full(2, 200.0))
    measured = np.array([[10.0, 70.0], [15.0, 5.0]])
    edges = estimate_item_contexts(items, measured, 1e12, sums=sums)
    shares = np.array([80 * 10 + 20 * 15, 80 * 70 + 20 * 5]) / (80**2 + 20**2)
    assert edges.mean == pytest.approx(np.outer([80.0, 20.0], shares), rel=1e-3)


class Shops:
    """1,000 items by Zipf's law; each has its own shares of 4 contexts, near those of all."""

    def __init__(self, seed: int, deviation: float) -> None:
        random = np.random.default_rng(seed)
        shares = random.dirichlet(np.array([5.0, 3.0, 1.5, 0.5]) * 3, 1_000)
        counts = np.round(20_000 / np.arange(1, 1_001)).astype(np.int64)
        self.exact = random.multinomial(counts, shares).astype(np.float64)
        self.measured = self.exact + random.normal(0, deviation, self.exact.shape)
        own = deviation / 2  # items are known better
        mean = np.maximum(counts + random.normal(0, own, 1_000), 0.0)
        self.items = Posterior(mean, np.maximum(mean - 1.96 * own, 0.0), mean + 1.96 * own)


@pytest.mark.parametrize("deviation", [3.0, 20.0, 100.0])
def test_they_are_nearer_than_what_was_measured_and_than_what_was_expected(deviation: float) -> None:
    """In mean squared error, over 3 seeds; and 95 % of intervals hold, or 93 % at the least."""
    error, before, expected, covered = 0.0, 0.0, 0.0, []
    for seed in range(3):
        shops = Shops(seed, deviation)
        edges = estimate_item_contexts(shops.items, shops.measured, deviation**2, sums=True)
        error += ((edges.mean - shops.exact) ** 2).mean()
        before += ((shops.measured - shops.exact) ** 2).mean()
        shares = shops.exact.sum(axis=0) / shops.exact.sum()
        expected += ((np.outer(shops.items.mean, shares) - shops.exact) ** 2).mean()
        covered.append(((edges.low <= shops.exact) & (shops.exact <= edges.high)).mean())
    assert error < before
    assert error < expected
    assert np.mean(covered) >= 0.93


def test_no_records_at_all() -> None:
    nothing = Posterior(np.zeros(3), np.zeros(3), np.full(3, 10.0))
    for measured in (np.zeros((3, 2)), np.full((3, 2), -5.0)):
        edges = estimate_item_contexts(nothing, measured, 4.0, sums=True)
        assert not edges.mean.any()
        assert (edges.high >= 0).all()
    empty = Posterior(np.empty(0), np.empty(0), np.empty(0))
    assert estimate_item_contexts(empty, np.empty((0, 3)), 4.0, sums=True).mean.shape == (0, 3)


def test_a_shared_deviation_of_an_item_moves_its_item_contexts() -> None:
    """Half of the items have a third more than was thought, in 6 contexts: an edge borrows from the others."""
    truth = np.outer(np.tile([200.0, 400.0], 100), np.full(6, 1 / 6))
    measured = truth + np.random.default_rng(3).normal(0, 20, truth.shape)
    items = Posterior(np.full(200, 300.0), np.full(200, 100.0), np.full(200, 500.0))
    error = np.abs(estimate_item_contexts(items, measured, 20.0**2, sums=False).mean - truth).mean()
    assert error < 0.6 * np.abs(50.0 - truth).mean()  # by its item alone, each would be 50
    assert error < 0.6 * np.abs(measured - truth).mean()


def test_a_precise_item_count_improves_its_item_context_counts() -> None:
    """Of items that may be off by a third edges tell more; where counts are sure, edges of one item move none."""
    truth = np.outer(np.tile([200.0, 400.0], 100), np.full(6, 1 / 6))
    measured = truth + np.random.default_rng(3).normal(0, 20, truth.shape)
    items = Posterior(np.full(200, 300.0), np.full(200, 100.0), np.full(200, 500.0))
    errors = {
        variance: np.abs(
            estimate_item_contexts(
                items, measured, 20.0**2, sums=False, relative_variances=np.full(200, variance)
            ).mean
            - truth
        ).mean()
        for variance in (1e-6, 1 / 9)
    }
    assert errors[1 / 9] < 0.6 * errors[1e-6]
    some = np.where(np.arange(200) < 100, 1 / 9, 1e-6)  # each item by itself
    cell_errors = np.abs(
        estimate_item_contexts(items, measured, 20.0**2, sums=False, relative_variances=some).mean - truth
    ).mean(axis=1)
    assert cell_errors[:100].mean() < 0.7 * cell_errors[100:].mean()
