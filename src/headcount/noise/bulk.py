"""Long vectors of noise from a stream of random words, by a kernel that fills what it can of a vector.

A kernel gets words, a vector and how much of it is filled already; it returns how much is filled then, and how
many words that took. What it did not use up is handed to it again, in front of fresh words.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from headcount.noise.source import NoiseSource, Words

Kernel = Callable[[Words, NDArray[np.int64], int], tuple[int, int]]

_CHUNK = 1 << 16  # draws per buffer of words
_THREADS = 2


def fill(size: int, source: NoiseSource, kernel: Kernel, words_per_draw: int) -> NDArray[np.int64]:
    """Draw ``size`` values with a kernel that uses about ``words_per_draw`` words for each."""
    out = np.empty(size, dtype=np.int64)

    def fill_part(part: NDArray[np.int64]) -> None:
        left = np.empty(0, dtype=np.uint32)
        filled = 0
        while filled < part.size:
            wanted = min(words_per_draw * (part.size - filled) + 64, words_per_draw * _CHUNK)
            words = np.concatenate([left, source.words(wanted)])
            filled, used = kernel(words, part, filled)
            left = words[used:]

    parts = [out[start : start + _CHUNK] for start in range(0, size, _CHUNK)]
    if source.is_private and len(parts) > 1:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(fill_part, parts))
    else:
        for part in parts:
            fill_part(part)
    return out
