"""Samplers of exact discrete noise, many draws at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from headcount.noise.randomness import NoiseSource

_CHUNK = 1 << 16  # draws per buffer of words
_THREADS = 2


def draws(
    scale: Fraction, shape: tuple[int, ...] | None, size: int, source: NoiseSource, words_per_draw: int
) -> NDArray[np.int64]:
    """Draw ``size`` Laplace values of a scale, or Gaussian ones by a shape, of about so many words each."""
    from headcount.noise.samplers.kernels import discrete

    parameters = scale.numerator, scale.denominator, None if shape is None else discrete.Shape(*shape)
    out = np.empty(size, dtype=np.int64)

    def fill_part(part: NDArray[np.int64]) -> None:
        left = np.empty(0, dtype=np.uint32)
        filled = 0
        while filled < part.size:
            wanted = min(words_per_draw * (part.size - filled) + 64, words_per_draw * _CHUNK)
            words = np.concatenate([left, source.words(wanted)])
            filled, used = discrete.draw(*parameters, words, part, filled)
            left = words[used:]

    parts = [out[start : start + _CHUNK] for start in range(0, size, _CHUNK)]
    if source.is_private and len(parts) > 1:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(fill_part, parts))
    else:
        for part in parts:
            fill_part(part)
    return out
