"""Exact exponential choices, in integer arithmetic.

A choice tries candidates, uniformly drawn, until their own trial with probability exp(-behind / scale) accepts
one; the best is always accepted, so N candidates take N tries or fewer on average. When the words end within a
try, that try is abandoned and its words are handed back: see :mod:`headcount.noise.samplers.kernels.trials`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Words
from headcount._internal.compiled import Word, compiled, inlined
from headcount.noise.samplers.kernels.trials import below, happens


@inlined
def _stays(behind: Word, numerator: Word, denominator: Word, words: Words, cursor: Word) -> tuple[Word, Word]:
    """Return 1 with probability exp(-behind · denominator / numerator), else 0; or -1 if the words ran out."""
    rest = np.int64(behind) * denominator
    kept: Word = np.int64(1)
    while kept == 1 and rest >= numerator:  # soon over: far behind, one of these trials fails
        kept, cursor = happens(np.int64(1), np.int64(1), words, cursor)
        rest -= numerator
    if kept == 1:
        kept, cursor = happens(rest, numerator, words, cursor)
    return kept, cursor


@compiled
def exponential_choice(
    behind: NDArray[np.int32], numerator: Word, denominator: Word, words: Words
) -> tuple[Word, Word]:
    """Return an index, or -1 if the words ran out, and how many words were used up.

    Its probability is proportional to exp(-behind · denominator / numerator), where both are below 2^31; there
    are fewer than 2^32 candidates.
    """
    settled: Word = np.int64(0)  # words before this one belong to finished tries
    while True:
        index, cursor = below(np.int64(behind.size), words, settled)
        if index < 0:
            return np.int64(-1), settled
        kept, cursor = _stays(behind[index], numerator, denominator, words, cursor)
        if kept < 0:
            return np.int64(-1), settled
        settled = cursor
        if kept == 1:
            return index, settled


@compiled
def permute_and_flip(
    behind: NDArray[np.int32], best: Word, numerator: Word, denominator: Word, order: NDArray[np.int64],
    taken: Word, at: Word, words: Words, anew: bool = False,
) -> tuple[Word, Word, Word]:  # fmt: skip
    """Go on through the candidates in random order until one stays; return it or -1, where to go on, words used.

    ``order`` holds all candidates; those before ``taken`` are out, those before ``at`` have failed in this round.
    A candidate stays with probability exp(-(behind - best) · denominator / numerator), where ``best`` is how far
    behind the best one left is: that one always stays. If each try is ``anew``, whoever has failed may be tried
    again, and the candidate that stays is one of the exponential mechanism.
    """
    settled: Word = np.int64(0)
    while True:
        ahead, cursor = below(np.int64(order.size - at), words, settled)
        if ahead < 0:
            return np.int64(-1), at, settled
        index = order[at + ahead]
        kept, cursor = _stays(behind[index] - best, numerator, denominator, words, cursor)
        if kept < 0:
            return np.int64(-1), at, settled
        settled = cursor
        order[at], order[at + ahead] = order[at + ahead], order[at]
        if kept == 1:
            order[taken], order[at] = order[at], order[taken]
            return index, at, settled
        if not anew:
            at += 1


@compiled
def permute_and_flip_with_zeros(
    behind: NDArray[np.int32], best: Word, numerator: Word, denominator: Word, order: NDArray[np.int32],
    taken: Word, at: Word, zeros_behind: Word, zeros: Word, failed: Word, words: Words, anew: bool = False,
) -> tuple[Word, Word, Word, Word]:  # fmt: skip
    """Go on as :func:`permute_and_flip` does, among the candidates in ``order`` and ``zeros`` more, all alike.

    Each of those is ``zeros_behind``, and ``failed`` of them have failed in this round. Returns the candidate, or
    as many as ``order`` has where one of the zeros stays, or -1; where to go on; how many zeros have failed; and
    the words used. The round is over when a candidate is returned.
    """
    settled: Word = np.int64(0)
    while True:
        held = np.int64(order.size - at)
        ahead, cursor = below(held + zeros - failed, words, settled)
        if ahead < 0:
            return np.int64(-1), at, failed, settled
        index = np.int64(order[at + ahead]) if ahead < held else np.int64(order.size)
        gap = np.int64(behind[index]) if ahead < held else np.int64(zeros_behind)
        kept, cursor = _stays(gap - best, numerator, denominator, words, cursor)
        if kept < 0:
            return np.int64(-1), at, failed, settled
        settled = cursor
        if ahead >= held:
            if kept == 1:
                return index, at, failed, settled
            if not anew:
                failed += 1
            continue
        order[at], order[at + ahead] = order[at + ahead], order[at]
        if kept == 1:
            order[taken], order[at] = order[at], order[taken]
            return index, at, failed, settled
        if not anew:
            at += 1


@compiled
def uniform_below(bound: Word, words: Words) -> tuple[Word, Word]:
    """Return a uniform integer below ``bound`` < 2^32, or -1 if the words ran out, and the words used."""
    drawn, cursor = below(np.int64(bound), words, np.int64(0))
    return drawn, cursor if drawn >= 0 else np.int64(0)
