"""Compiled draws: SplitMix64's output function, and the SipHash-2-4 keys of raw ids under one secret.

Their definition is in :mod:`headcount.bounds.draws`, which kernels must equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Bytes, Draws, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.bounds import draws
from headcount.events.encode.kernels import siphash

GOLDEN = np.uint64(draws.GOLDEN)


@inlined
def mix(x: Word) -> Word:
    """Return the draw of a state."""
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@compiled
def keys_of_texts(k0: Word, k1: Word, data: Bytes, ends: Integers, out: Draws) -> None:
    """Write the key of every text; whole numbers come as texts of 8 bytes."""
    for at in range(ends.size):
        out[at] = siphash(k0, k1, data, ends[at - 1] if at > 0 else 0, ends[at])


def user_keys(raw: NDArray[np.int64] | tuple[Bytes, Integers], secret: bytes) -> Draws:
    """Return the key of every raw id: whole numbers, or the bytes of all texts and where each ends."""
    k0, k1 = np.frombuffer(secret, dtype="<u8").astype(np.uint64)
    if isinstance(raw, tuple):
        data, ends = raw
    else:
        data = raw.astype("<i8").view(np.uint8)
        ends = np.arange(8, 8 * raw.size + 1, 8, dtype=np.int64)
    keys = np.empty(ends.size, dtype=np.uint64)
    keys_of_texts(k0, k1, data, ends, keys)
    return keys
