"""Uniform draws inside kernels."""

from __future__ import annotations

import numpy as np

from headcount._internal.compiled import Word, inlined, uint64
from headcount.bounds.kernels.draws import mix


@inlined
def uniform(state: Word) -> Word:
    """Return a number in [0, 1) for a state of SplitMix64."""
    return np.int64(mix(state) >> uint64(11)) * 2.0**-53
