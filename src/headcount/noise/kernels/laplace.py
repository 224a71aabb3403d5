"""The bulk sampler of exact discrete Laplace noise, millions of draws a second, in integer arithmetic.

Reference
    C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, algorithm 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled
from headcount.noise.kernels.trials import below, happens

Words = NDArray[np.uint32]


@compiled
def discrete_laplace(
    numerator: Word, denominator: Word, words: Words, out: NDArray[np.int64], filled: Word
) -> tuple[Word, Word]:
    """Fill ``out`` from ``filled`` on; return how many values are filled and how many words were used up.

    The scale is ``numerator / denominator``, both below 2^31.
    """
    settled: Word = np.int64(0)  # words before this one belong to finished values
    while filled < out.size:
        cursor = settled
        while True:
            signed, cursor = below(2 * numerator, words, cursor)
            if signed < 0:
                return filled, settled
            negative = signed >= numerator
            rest = signed - numerator if negative else signed
            kept, cursor = happens(rest, numerator, words, cursor)
            if kept < 0:
                return filled, settled
            if kept == 0:
                continue
            whole: Word = np.int64(0)
            while True:
                again, cursor = happens(np.int64(1), np.int64(1), words, cursor)
                if again <= 0:
                    break
                whole += 1
            if again < 0:
                return filled, settled
            magnitude = (rest + numerator * whole) // denominator
            if negative and magnitude == 0:
                continue
            out[filled] = -magnitude if negative else magnitude
            break
        filled += 1
        settled = cursor
    return filled, settled
