"""Type aliases of NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bytes", "Codes", "Draws", "Flags", "Floats", "Integers", "Words"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
"""Places in a list: of users, items, contexts or cells."""
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]
"""Uniform random words."""
Draws = NDArray[np.uint64]
"""Keys, and what is drawn from them."""
