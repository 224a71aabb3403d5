"""The bulk sampler of exact discrete Laplace and Gaussian noise, millions of draws a second, in integers.

A Laplace value of scale n / m is a geometric number of steps 1 / m, with a sign; one of the two zeros is rejected.

A Gaussian value is proposed from the discrete Laplace law of a whole scale t near sigma, and kept with a
probability that turns the one law into the other. With sigma = n / m steps, |Y| is kept with probability
exp(-x² / 2), where

    x = | |Y| / sigma - sigma / t | = | |Y| t m² - n² | / (n m t).

With x = a + f, a whole and f below 1, that is exp(-1/2) for a² trials, exp(-f) for a trials, and exp(-f² / 2) for
one: all of them must succeed. Each is decided exactly, as is all else, by
:mod:`headcount.noise.samplers.kernels.trials`; when the words end within a draw, they are handed back.

Reference
    C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, algorithms 2
    and 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Words
from headcount._internal.compiled import Word, compiled
from headcount.noise.samplers.kernels.trials import below, happens

MOST_SCALES = 1 << 14
"""How many scales away a proposal counts as at most: beyond, more trials must succeed than there can be words."""


class Shape(NamedTuple):
    """What makes a Gaussian value of a proposal Y: x = | |Y| · slope - middle | / (first · second).

    :func:`headcount.noise.gaussian.sampler_integers` keeps all of it within 63 bits.
    """

    slope: int
    middle: int
    first: int
    second: int


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
def _stays(magnitude: Word, shape: Shape, words: Words, cursor: Word) -> tuple[Word, Word]:
    """Return 1 with probability exp(-x² / 2), else 0; or -1 if the words ran out: see :class:`Shape`."""
    first, second = shape.first, shape.second
    gap = abs(magnitude * shape.slope - shape.middle)
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
def draw(
    numerator: Word, denominator: Word, shape: Shape | None, words: Words, out: NDArray[np.int64], filled: Word
) -> tuple[Word, Word]:
    """Fill ``out`` from ``filled`` on; return how many values are filled and how many words were used up.

    The scale is ``numerator / denominator``, both below 2^31; with a shape, which makes the values Gaussian, the
    denominator is 1.
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
            if shape is None:  # decided when this is compiled, once for each law
                magnitude = (rest + numerator * whole) // denominator
            else:
                magnitude = rest + numerator * min(whole, MOST_SCALES)
            if negative and magnitude == 0:
                continue
            if shape is not None:
                kept, cursor = _stays(magnitude, shape, words, cursor)
                if kept < 0:
                    return filled, settled
                if kept == 0:
                    continue
            out[filled] = -magnitude if negative else magnitude
            break
        filled += 1
        settled = cursor
    return filled, settled
