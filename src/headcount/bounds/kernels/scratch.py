"""Compiled scratch arrays: one allocation function for each type, so that Numba compiles each once.

Numba compiles ``np.empty`` once for every way it is asked, with or without a keyword, for a constant or a number,
and ``np.zeros`` takes twice as long: so kernels ask here.
"""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Codes, Draws, Integers
from headcount._internal.compiled import Word, compiled


@compiled
def codes(size: Word) -> Codes:
    """Return room for so many codes."""
    return np.empty(size, dtype=np.int32)


@compiled
def draws(size: Word) -> Draws:
    """Return room for so many draws."""
    return np.empty(size, dtype=np.uint64)


@compiled
def integers(size: Word) -> Integers:
    """Return room for so many whole numbers."""
    return np.empty(size, dtype=np.int64)


@compiled
def zeros(size: Word) -> Integers:
    """Return so many zeros."""
    out = integers(size)
    for at in range(size):
        out[at] = 0
    return out
