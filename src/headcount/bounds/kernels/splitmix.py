"""SplitMix64's output function, compiled; its definition is in the draws module, which kernels must equal."""

from __future__ import annotations

import numpy as np

from headcount._internal.compiled import Word, inlined, uint64
from headcount.bounds import draws

GOLDEN = np.uint64(draws.GOLDEN)


@inlined
def mix(x: Word) -> Word:
    """Return the draw of a state."""
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))
