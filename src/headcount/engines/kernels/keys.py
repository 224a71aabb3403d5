"""SipHash-2-4, compiled: the keys of all raw user ids under one secret; see :mod:`headcount.engines.draws`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Draws, Integers
from headcount.compiling import Word, compiled, inlined, uint64
from headcount.events.kernels.interning import word_at


@inlined
def _rotate(x: Word, by: Word) -> Word:
    return (x << uint64(by)) | (x >> uint64(64 - by))


@inlined
def _sip(a: Word, b: Word, c: Word, d: Word) -> tuple[Word, Word, Word, Word]:
    a += b
    b = _rotate(b, 13) ^ a
    a = _rotate(a, 32)
    c += d
    d = _rotate(d, 16) ^ c
    a += d
    d = _rotate(d, 21) ^ a
    c += b
    b = _rotate(b, 17) ^ c
    c = _rotate(c, 32)
    return a, b, c, d


@compiled
def _siphash(k0: Word, k1: Word, data: NDArray[np.uint8], begin: Word, end: Word) -> Word:
    a, b = k0 ^ uint64(0x736F6D6570736575), k1 ^ uint64(0x646F72616E646F6D)
    c, d = k0 ^ uint64(0x6C7967656E657261), k1 ^ uint64(0x7465646279746573)
    length = end - begin
    rest = uint64(length & 0xFF) << uint64(56)
    for at in range(length // 8 * 8, length):
        rest |= uint64(data[begin + at]) << uint64(8 * (at & 7))
    for block in range(length // 8 + 1):
        word = word_at(data, begin + 8 * block) if block < length // 8 else rest
        d ^= word
        a, b, c, d = _sip(a, b, c, d)
        a, b, c, d = _sip(a, b, c, d)
        a ^= word
    c ^= uint64(0xFF)
    for _ in range(4):
        a, b, c, d = _sip(a, b, c, d)
    return a ^ b ^ c ^ d


@compiled
def keys_of_texts(k0: Word, k1: Word, data: NDArray[np.uint8], ends: Integers, out: Draws) -> None:
    """Write the key of every text; whole numbers come as texts of 8 bytes."""
    for at in range(ends.size):
        out[at] = _siphash(k0, k1, data, ends[at - 1] if at > 0 else 0, ends[at])
