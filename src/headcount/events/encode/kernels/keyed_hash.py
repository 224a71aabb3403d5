"""Compiled keyed hashes of ids and cells (SipHash and multiply-shift), unpredictable for users.

Every table draws its own secret words from the operating system:
:func:`headcount.events.encode.id_table.secret_words`.

Why one user's values cannot slow a table down
    A value of up to :data:`SHORT` bytes has the pair-multiply-shift hash, the upper half of a sum: a secret word
    and, for every 8 bytes, (a + low)(b + high) with two more. It is strongly universal: two fixed values meet in
    32 bits with probability about 2^-32. With linear probing, n insertions take O(n log n) expected steps,
    whatever the values. Longer texts have SipHash-2-4, a keyed pseudo-random function. A fixed mixing step
    follows; without it, evenly spaced values meet often under a few of all secret words. No result depends on the
    words: codes follow the order of first occurrence. An attacker who measures steps inside the process learns
    about the words of one table, which no later table has.

References
    J.-P. Aumasson, D. Bernstein. SipHash: a fast short-input PRF. INDOCRYPT 2012.
    M. Thorup. High speed hashing for integers and strings. arXiv:1504.06804, 2015.
    M. Pătraşcu, M. Thorup. On the k-independence required by linear probing and minwise independence. ACM
    Transactions on Algorithms 12(1), 2016.
"""

from __future__ import annotations

from headcount._internal.arrays import Bytes, Draws
from headcount._internal.compiled import Word, compiled, inlined, uint64

WORDS = 64
"""How many secret words a table has."""
SHORT = 4 * WORDS - 9
"""The most bytes of a text with enough secret words: two for 8 bytes, and two for the length."""


@inlined
def word_at(data: Bytes, at: Word) -> Word:
    """Return 8 bytes as one number; the compiler makes one load of it, since no place can be negative."""
    place = uint64(at)
    return (
        uint64(data[place])
        | uint64(data[place + uint64(1)]) << uint64(8)
        | uint64(data[place + uint64(2)]) << uint64(16)
        | uint64(data[place + uint64(3)]) << uint64(24)
        | uint64(data[place + uint64(4)]) << uint64(32)
        | uint64(data[place + uint64(5)]) << uint64(40)
        | uint64(data[place + uint64(6)]) << uint64(48)
        | uint64(data[place + uint64(7)]) << uint64(56)
    )


@inlined
def rest_at(data: Bytes, at: Word, end: Word) -> Word:
    """Return less than 8 bytes as one number; to the last bytes of all those before them are loaded as well."""
    first = min(at, data.size - 8)
    word = word_at(data, first) >> (uint64(8) * uint64(at - first) & uint64(63))
    return word & ((uint64(1) << (uint64(8) * uint64(end - at))) - uint64(1))


@inlined
def _pair(word: Word, first: Word, second: Word) -> Word:
    return (first + (word & uint64(0xFFFFFFFF))) * (second + (word >> uint64(32)))


@inlined
def _mixed(x: Word) -> Word:
    """Return a number whose upper half follows from the upper half of another one, in no simple way."""
    x >>= uint64(32)
    return (x ^ (x >> uint64(16))) * uint64(0xD6E8FEB86659FD93)


@inlined
def hash_number(number: Word, first: Word, second: Word, third: Word) -> Word:
    """Return the hash of a whole number under three secret words: its top bits say where the number belongs."""
    return _mixed(_pair(uint64(number), first, second) + third)


@inlined
def hash_cell(cell: Word, secret: Word) -> Word:
    """Return 32 bits, the hash of as many under one secret word: multiply-shift, which is universal."""
    return _mixed(uint64(cell) * (secret | uint64(1))) >> uint64(32)


@inlined
def hash_bytes(data: Bytes, begin: Word, end: Word, words: Draws) -> Word:
    """Return the hash of a text under a table's secret words."""
    if end - begin > SHORT:
        return siphash(words[0], words[1], data, begin, end)
    x, at, place = words[0] + words[1] * uint64(end - begin), begin, uint64(2)
    while at + 8 <= end:
        x += _pair(word_at(data, at), words[place], words[place + uint64(1)])
        at += 8
        place += uint64(2)
    x = _mixed(x + _pair(rest_at(data, at, end), words[place], words[place + uint64(1)]))
    return x ^ (x >> uint64(32))


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
def siphash(k0: Word, k1: Word, data: Bytes, begin: Word, end: Word) -> Word:
    """Return SipHash-2-4 of some bytes under a secret of two words."""
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
