"""Reconciliation by least squares: item-context counts that sum to item counts, counts that sum to a total.

An item is measured twice, once by its own noisy count y₀ and once by the sum S of its noisy edges. The best
linear estimate weighs the two by their precision and spreads the difference evenly over the edges, after
which edges sum to their item and every count has no more variance than before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """How much of an item's estimate comes from its own count, and how much from its edges.

    >>> Weights.by_precision(items_variance=1.0, edges_variance=1.0, contexts=4)
    Weights(item=0.8, edges=0.2, contexts=4)
    """

    item: float
    edges: float
    contexts: int

    @classmethod
    def by_precision(cls, *, items_variance: float, edges_variance: float, contexts: int) -> Weights:
        """Weigh by precision: the sum of h edges has h times the variance of one."""
        total = contexts * edges_variance + items_variance
        if total == 0:  # so little noise that it vanishes in floating point: both agree already
            return cls(0.5, 0.5, contexts)
        return cls(contexts * edges_variance / total, items_variance / total, contexts)


def reconcile(items: Counts, item_contexts: Counts, weights: Weights) -> tuple[Counts, Counts]:
    """Return the consistent item counts, and edges (one row an item) that sum to them.

    >>> weights = Weights.by_precision(items_variance=1.0, edges_variance=1.0, contexts=2)
    >>> items, edges = reconcile(np.array([9.0]), np.array([[4.0, 2.0]]), weights)
    >>> items.tolist(), edges.tolist()
    ([8.0], [[5.0, 3.0]])
    """
    sums = item_contexts.sum(axis=1)
    best = weights.item * items + weights.edges * sums
    return best, item_contexts + ((best - sums) / weights.contexts)[:, None]


def project_onto_total(counts: Counts, total: float) -> Counts:
    """Return the counts nearest to the given ones (in squares) that are not negative and sum to ``total``.

    All are lowered, or raised, by the same amount, and what would fall below zero is zero.

    >>> project_onto_total(np.array([5.0, 1.0, -2.0]), 4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    falling = np.sort(counts.ravel())[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = int(np.flatnonzero(falling > lowered)[-1]) if total > 0 else falling.size - 1
    return np.maximum(counts - lowered[kept], 0.0) if total > 0 else np.zeros_like(counts)
