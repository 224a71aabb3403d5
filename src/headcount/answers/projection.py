"""Counts that are not negative and add up to a total: the nearest ones to released numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]


def onto_total(counts: Counts, total: float) -> Counts:
    """Return the counts nearest to the given ones (in squares) that are not negative and sum to ``total``.

    All are lowered, or raised, by the same amount, and what would fall below zero is zero.

    >>> onto_total(np.array([5.0, 1.0, -2.0]), 4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    falling = np.sort(counts.ravel())[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = int(np.flatnonzero(falling > lowered)[-1]) if total > 0 else falling.size - 1
    return np.maximum(counts - lowered[kept], 0.0) if total > 0 else np.zeros_like(counts)
