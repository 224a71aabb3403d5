"""The bins of activity histograms: 1, 2, 3–4, 5–8, … records, and one open bin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LAST_EDGE = 1 << 20
UPPER_ENDS = np.array([1 << k for k in range(21)], dtype=np.int64)
"""The most records in each closed bin; one open bin follows."""

BINS = UPPER_ENDS.size + 1


def bin_of(records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bin that each number of records falls into.

    >>> bin_of(np.array([1, 2, 3, 4, 5, 8, 9, 1 << 20, (1 << 20) + 1])).tolist()
    [0, 1, 2, 2, 3, 3, 4, 20, 21]
    """
    return np.asarray(np.searchsorted(UPPER_ENDS, records), dtype=np.int64)


def lower_ends() -> NDArray[np.int64]:
    """Return the fewest records in each bin.

    >>> lower_ends()[:5].tolist()
    [1, 2, 3, 5, 9]
    """
    return np.concatenate([[1], UPPER_ENDS + 1])
