"""Exact trials in integer arithmetic: every decision of a sampler comes from uniform random words by rejection.

A draw reads as many words as it needs. When the buffer ends within a draw, that draw is abandoned and its
words are handed back, to be read again in front of fresh ones: the values are a fixed function of the stream
of words, whatever the size of the buffers, so cutting the stream into buffers cannot bias them.

Reference
    C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, algorithm 1.
"""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Words
from headcount._internal.compiled import Word, inlined, uint32, uint64


@inlined
def below(bound: Word, words: Words, cursor: Word) -> tuple[Word, Word]:
    """Return a uniform integer below ``bound`` < 2^32 (Lemire's rejection), or -1 if the words ran out."""
    while True:
        if cursor >= words.size:
            return np.int64(-1), cursor
        product = uint64(words[cursor]) * uint64(bound)
        cursor += 1
        low = uint32(product & uint64(0xFFFFFFFF))
        if uint64(low) >= uint64(bound):
            return np.int64(product >> uint64(32)), cursor
        if uint64(low) >= (uint64(0x100000000) - uint64(bound)) % uint64(bound):
            return np.int64(product >> uint64(32)), cursor


@inlined
def happens(numerator: Word, denominator: Word, words: Words, cursor: Word) -> tuple[Word, Word]:
    """Return 1 with probability exp(-numerator / denominator) <= 1, else 0; or -1 if the words ran out."""
    k: Word = np.int64(1)
    while True:
        # a trial with probability numerator / (denominator * k), as two independent exact trials
        alive = numerator == denominator
        if not alive:
            drawn, cursor = below(denominator, words, cursor)
            if drawn < 0:
                return np.int64(-1), cursor
            alive = drawn < numerator
        if alive and k > 1:
            drawn, cursor = below(k, words, cursor)
            if drawn < 0:
                return np.int64(-1), cursor
            alive = drawn == 0
        if not alive:
            return k & np.int64(1), cursor
        k += 1
