"""The bulk sampler of exact discrete Gaussian noise, in integer arithmetic.

A value is proposed from the discrete Laplace law of a whole scale t near sigma, and kept with a probability that
turns the one law into the other. With sigma = n / m steps, |Y| is kept with probability exp(-x² / 2), where

    x = | |Y| / sigma - sigma / t | = | |Y| t m² - n² | / (n m t).

With x = a + f, a whole and f below 1, that is exp(-1/2) for a² trials, exp(-f) for a trials, and exp(-f² / 2) for
one: all of them must succeed. Each is decided exactly from trials with rational probabilities, as in
:mod:`headcount.noise.kernels.trials`, and so is the handing back of words. No floating-point number is involved.

Reference
    C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, algorithm 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled
from headcount.noise.kernels.trials import below, happens

Words = NDArray[np.uint32]

FURTHEST = 1 << 14
"""How many scales away a proposal counts as: from here on more trials must succeed than there can be words."""


@compiled
def _less(rest: Word, first: Word, second: Word, words: Words, cursor: Word) -> tuple[Word, Word]:
    """Return 1 with probability rest / (first · second), both below 2^31, else 0; or -1 if the words ran out."""
    leading = rest // second
    drawn, cursor = below(first, words, cursor)
    if drawn < 0:
        return np.int64(-1), cursor
    if drawn != leading or second == 1:
        return np.int64(drawn < leading), cursor
    drawn, cursor = below(second, words, cursor)
    if drawn < 0:
        return np.int64(-1), cursor
    return np.int64(drawn < rest - leading * second), cursor


@compiled
def _fades(rest: Word, first: Word, second: Word, power: Word, words: Words, cursor: Word) -> tuple[Word, Word]:
    """Return 1 with probability exp(-f^power / power) for f = rest / (first · second) < 1, else 0; or -1.

    For power 1 or 2. By the alternating series, as in ``happens``: a trial with probability f^power / (power · k)
    after the other, until one fails.
    """
    k: Word = np.int64(1)
    while True:
        alive: Word = np.int64(1)
        for _ in range(power):
            if alive == 1:
                alive, cursor = _less(rest, first, second, words, cursor)
        if alive == 1 and power * k > 1:
            drawn, cursor = below(power * k, words, cursor)
            alive = np.int64(-1) if drawn < 0 else np.int64(drawn == 0)
        if alive < 0:
            return np.int64(-1), cursor
        if alive == 0:
            return k & np.int64(1), cursor
        k += 1


@compiled
def _stays(gap: Word, first: Word, second: Word, words: Words, cursor: Word) -> tuple[Word, Word]:
    """Return 1 with probability exp(-x² / 2), x = gap / (first · second), else 0; or -1 if the words ran out."""
    whole = gap // (first * second)
    rest = gap - whole * (first * second)
    kept: Word = np.int64(1)
    for _ in range(whole * whole):
        kept, cursor = happens(np.int64(1), np.int64(2), words, cursor)
        if kept != 1:
            return kept, cursor
    for _ in range(whole):
        kept, cursor = _fades(rest, first, second, np.int64(1), words, cursor)
        if kept != 1:
            return kept, cursor
    return _fades(rest, first, second, np.int64(2), words, cursor)


@compiled
def discrete_gaussian(
    scale: Word, slope: Word, middle: Word, first: Word, second: Word, words: Words, out: NDArray[np.int64],
    filled: Word,
) -> tuple[Word, Word]:  # fmt: skip
    """Fill ``out`` from ``filled`` on; return how many values are filled and how many words were used up.

    Proposals are discrete Laplace of ``scale`` t, and x = | |Y| · slope - middle | / (first · second): see
    :func:`headcount.noise.gaussian.pieces`, which keeps all of it within 63 bits.
    """
    settled: Word = np.int64(0)  # words before this one belong to finished values
    while filled < out.size:
        cursor = settled
        while True:
            signed, cursor = below(2 * scale, words, cursor)
            if signed < 0:
                return filled, settled
            negative = signed >= scale
            rest = signed - scale if negative else signed
            kept, cursor = happens(rest, scale, words, cursor)
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
            magnitude = rest + scale * min(whole, FURTHEST)
            if negative and magnitude == 0:
                continue
            kept, cursor = _stays(abs(magnitude * slope - middle), first, second, words, cursor)
            if kept < 0:
                return filled, settled
            if kept == 0:
                continue
            out[filled] = -magnitude if negative else magnitude
            break
        filled += 1
        settled = cursor
    return filled, settled
