"""Uniform draws inside kernels."""

from __future__ import annotations

import numpy as np

from headcount.compiling import Word, inlined, uint64
from headcount.engines.kernels.mixing import mix


@inlined
def uniform(state: Word) -> Word:
    """Return a number in [0, 1) for a state of SplitMix64."""
    return np.int64(mix(state) >> uint64(11)) * 2.0**-53
