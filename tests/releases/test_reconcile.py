"""Reconciling items with edges: the least-squares optimum, and edges that sum to items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.releases.reconcile import Weights, reconcile

counts = st.integers(-1000, 1000).map(float)
variances = st.floats(0.01, 1000)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[float], list[list[float]]]:
    items, contexts = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    row = st.lists(counts, min_size=contexts, max_size=contexts)
    return (
        draw(st.lists(counts, min_size=items, max_size=items)),
        draw(st.lists(row, min_size=items, max_size=items)),
    )


@given(tables(), variances, variances)
def test_it_is_the_weighted_least_squares_optimum(
    measured: tuple[list[float], list[list[float]]], items_variance: float, edges_variance: float
) -> None:
    """Against numpy's solution of the explicit system: unknown edges, h + 1 weighted equations an item."""
    items, edges = np.array(measured[0]), np.array(measured[1])
    h = edges.shape[1]
    weights = Weights.by_precision(items_variance=items_variance, edges_variance=edges_variance, contexts=h)
    best_items, best_edges = reconcile(items, edges, weights)
    rows = np.vstack([np.ones(h) / items_variance**0.5, np.eye(h) / edges_variance**0.5])
    for item, edge, best_item, best_edge in zip(items, edges, best_items, best_edges, strict=True):
        right = np.concatenate([[item / items_variance**0.5], edge / edges_variance**0.5])
        solution = np.linalg.lstsq(rows, right, rcond=None)[0]
        assert np.allclose(best_edge, solution, atol=1e-6)
        assert best_item == pytest.approx(solution.sum(), abs=1e-6)


@given(tables(), variances, variances)
def test_item_contexts_sum_to_items_and_consistent_tables_stay(
    measured: tuple[list[float], list[list[float]]], items_variance: float, edges_variance: float
) -> None:
    items, edges = np.array(measured[0]), np.array(measured[1])
    weights = Weights.by_precision(
        items_variance=items_variance, edges_variance=edges_variance, contexts=edges.shape[1]
    )
    best_items, best_edges = reconcile(items, edges, weights)
    assert np.allclose(best_edges.sum(axis=1), best_items, atol=1e-6)
    again = reconcile(best_items, best_edges, weights)
    assert np.allclose(again[0], best_items, atol=1e-6)
    assert np.allclose(again[1], best_edges, atol=1e-6)


@given(variances, variances, st.integers(1, 50))
def test_no_count_gets_more_variance(items_variance: float, edges_variance: float, contexts: int) -> None:
    """The paper's formula: x₀ = (h·v₂·y₀ + v₁·S) / (h·v₂ + v₁)."""
    weights = Weights.by_precision(items_variance=items_variance, edges_variance=edges_variance, contexts=contexts)
    assert weights.item + weights.edges == pytest.approx(1)
    item = weights.item**2 * items_variance + weights.edges**2 * contexts * edges_variance
    assert item <= min(items_variance, contexts * edges_variance) * (1 + 1e-9)
    spread = (1 - weights.edges) / contexts
    edge = (weights.item / contexts) ** 2 * items_variance + (
        (1 - spread) ** 2 + (contexts - 1) * spread**2
    ) * edges_variance
    assert edge <= edges_variance * (1 + 1e-9)


def test_empty_tables() -> None:
    weights = Weights.by_precision(items_variance=1, edges_variance=1, contexts=3)
    items, edges = reconcile(np.empty(0), np.empty((0, 3)), weights)
    assert items.shape == (0,)
    assert edges.shape == (0, 3)
