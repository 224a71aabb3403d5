"""A public subset of catalogue items; records of other items are dropped before a bound is applied.

Which items is public: listed beforehand, or released by a mechanism that was paid for. Whether a record is left
out is a function of that record alone, so what is left of a person is bounded as everything was, and a sum over
people stays one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ItemSubset:
    """The items at some places of the catalogue, each once.

    >>> ItemSubset(np.array([2, 0])).of_items(4).tolist()
    [True, False, True, False]
    """

    places: NDArray[np.int64]

    def of_items(self, items: int) -> NDArray[np.bool_]:
        """Say of each of so many items whether it is one of them; refuse places beyond: kernels do not look."""
        places = self.places
        if places.ndim != 1 or places.dtype != np.int64 or np.unique(places).size != places.size:
            raise ValueError("items must be named by whole numbers, each once")
        if places.size and not 0 <= places.min() <= places.max() < items:
            raise ValueError(f"places must lie within a catalogue of {items} items")
        flags = np.zeros(items, dtype=np.bool_)
        flags[places] = True
        return flags
