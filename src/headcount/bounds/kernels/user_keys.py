"""SipHash-2-4 of all raw user ids under one secret: their keys; see :mod:`headcount.bounds.draws`."""

from __future__ import annotations

from headcount._internal.arrays import Bytes, Draws, Integers
from headcount._internal.compiled import Word, compiled
from headcount.events.encode.kernels.keyed_hash import siphash


@compiled
def keys_of_texts(k0: Word, k1: Word, data: Bytes, ends: Integers, out: Draws) -> None:
    """Write the key of every text; whole numbers come as texts of 8 bytes."""
    for at in range(ends.size):
        out[at] = siphash(k0, k1, data, ends[at - 1] if at > 0 else 0, ends[at])
