"""Compiled kernels: keyed hashes of ids, tables from ids to dense codes, and look-ups of cells.

A table of ids is open addressing over exact keys: whole numbers, or text compared byte by byte, so two users are
never taken for one. Every table draws its own secret words from the operating system
(:func:`headcount.events.encode.id_table.secret_words`), and slots follow from them: users cannot predict them.

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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Bytes, Codes, Draws, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64

Numbers = NDArray[Any]  # whole numbers of any width
_STEP = 1 << 11  # rows whose codes stay in the processor's cache until they are looked at again
_TEXTS = 1 << 6  # texts that are fetched at once
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


@compiled
def look_up(values: Numbers, low: Word, table: Codes, out: Codes) -> None:
    """Write ``table[value - low]``, or -1 for a value outside the table."""
    first, size = uint64(low), uint64(table.size)
    for row in range(values.size):
        place = uint64(np.int64(values[row])) - first  # one below 0 wraps around to a large number
        out[row] = table[place] if place < size else np.int32(-1)


@compiled
def combine(items: Codes, contexts: Codes, width: Word, out: Codes) -> tuple[Word, Word]:
    """Write the cell of each item and context, -1 where the item is not in the catalogue.

    A context below 0 is unknown and has an item's last cell. Returns how many items are outside the catalogue, and
    how many of the others have an unknown context.
    """
    outside, unknown = np.int64(0), np.int64(0)
    cells, none = np.int32(width), np.int32(-1)
    for row in range(items.size):
        item, context = items[row], contexts[row]
        outside += item < 0
        unknown += (item >= 0) & (context < 0)
        out[row] = none if item < 0 else item * cells + (cells + none if context < 0 else context)
    return outside, unknown


@compiled
def look_up_cells(
    items: Numbers, first_item: Word, of_items: Codes, contexts: Numbers, first_context: Word, of_contexts: Codes,
    width: Word, out: Codes,
) -> tuple[Word, Word]:  # fmt: skip
    """Do :func:`look_up` for items and contexts, and :func:`combine` for what is found, some rows at a time."""
    outside, unknown = np.int64(0), np.int64(0)
    listed, beside = np.empty(_STEP, dtype=np.int32), np.empty(_STEP, dtype=np.int32)
    for start in range(0, items.size, _STEP):
        cells = out[start : start + _STEP]
        look_up(items[start : start + _STEP], first_item, of_items, listed)
        look_up(contexts[start : start + _STEP], first_context, of_contexts, beside)
        more = combine(listed[: cells.size], beside, width, cells)
        outside, unknown = outside + more[0], unknown + more[1]
    return outside, unknown


@compiled
def intern_numbers(
    values: Numbers, start: Word, words: Draws, slots: Integers, ids: Integers, size: Word, may_add: Word,
    out: Codes,
) -> tuple[Word, Word]:  # fmt: skip
    """Code whole numbers from row ``start`` on; return the row reached and the number of ids known.

    A slot is a number and its code side by side, the code of a free one below 0. Stops early when the table is
    half full, to be enlarged. Unknown ids get -1 unless ``may_add``. Most numbers are in the first slot that they
    could be in: these are found without a branch, so that the processor fetches the slots of many rows at once.
    """
    mask, shift, places = uint64(slots.size - 2), uint64(64), np.empty(_STEP, dtype=np.uint64)
    while slots.size >> np.int64(uint64(64) - shift) > 1:
        shift -= uint64(1)
    first, second, third = words[0], words[1], words[2]  # loaded once
    for begin in range(start, values.size, _STEP):
        some, codes = values[begin : begin + _STEP], out[begin : begin + _STEP]
        for at in range(some.size):
            places[at] = (hash_number(np.int64(some[at]), first, second, third) >> shift) & mask
        for at in range(some.size):
            code = slots[places[at] + uint64(1)]
            codes[at] = code if slots[places[at]] == np.int64(some[at]) else np.int64(-1)
        for at in range(some.size):
            if codes[at] >= 0:
                continue
            value, slot = np.int64(some[at]), places[at]
            while slots[slot] != value and slots[slot + uint64(1)] >= 0:
                slot = (slot + uint64(2)) & mask
            code = slots[slot + uint64(1)]
            if code < 0 and may_add:
                if 4 * (size + 1) > slots.size:
                    return begin + at, size
                slots[slot] = value
                slots[slot + uint64(1)] = size
                ids[size] = value
                code = np.int64(size)
                size += 1
            codes[at] = code
    return values.size, size


@inlined
def _same_bytes(data: Bytes, begin: Word, other: Bytes, first: Word, size: Word) -> Word:
    """Whether two texts of the same size are equal, byte by byte."""
    unlike, at = uint64(0), np.int64(0)
    while at + 8 <= size:
        unlike |= word_at(data, begin + at) ^ word_at(other, first + at)
        at += 8
    return unlike | (rest_at(data, begin + at, begin + size) ^ rest_at(other, first + at, first + size)) == 0


@inlined
def _is_text(data: Bytes, begin: Word, end: Word, arena: Bytes, ends: Integers, code: Word) -> Word:
    """Whether a text is the one that has a code."""
    first = ends[code - 1] if code > 0 else np.int64(0)
    return ends[code] - first == end - begin and _same_bytes(data, begin, arena, first, end - begin)


@compiled
def _first_slots(
    data: Bytes, offsets: Integers, words: Draws, slots: Draws, arena: Bytes, ends: Integers, hashes: Draws,
    candidate_ends: Integers, codes: Codes,
) -> None:  # fmt: skip
    """Write the hashes of some texts, and the codes of those that are in the first slot they could be in, else -1.

    Most texts are there. Each step is done for all of them before the next one, so that the processor fetches what
    it needs for many at once; ``candidate_ends``, where texts end that are probably the same, is for nothing else.
    """
    mask = uint64(slots.size - 1)
    for row in range(offsets.size - 1):
        hashes[row] = hash_bytes(data, offsets[row], offsets[row + 1], words)
    for row in range(offsets.size - 1):
        slot = slots[hashes[row] & mask]
        codes[row] = np.int32(slot) - np.int32(1) if (slot ^ hashes[row]) >> uint64(32) == 0 else np.int32(-1)
    for row in range(offsets.size - 1):
        candidate_ends[row] = ends[uint64(max(codes[row], 1) - 1)]
    for row in range(offsets.size - 1):
        code = codes[row]
        if code >= 0 and not _is_text(data, offsets[row], offsets[row + 1], arena, ends, code):
            codes[row] = -1


@compiled
def intern_text(
    data: Bytes, offsets: Integers, start: Word, words: Draws, slots: Draws, arena: Bytes, ends: Integers,
    size: Word, may_add: Word, out: Codes,
) -> tuple[Word, Word]:  # fmt: skip
    """Code texts from row ``start`` on, as :func:`intern_numbers` does; texts are kept in an arena.

    A slot holds half of a text's hash and its code plus one, or 0. ``ends[code]`` is where the text with that
    code ends in the arena and the next one begins. Both the texts and the arena have 8 bytes or more.
    """
    mask = uint64(slots.size - 1)
    hashes, candidate_ends = np.empty(_TEXTS, dtype=np.uint64), np.empty(_TEXTS, dtype=np.int64)
    for some in range(start, out.size, _TEXTS):
        codes = out[some : some + _TEXTS]
        _first_slots(
            data, offsets[some : some + codes.size + 1], words, slots, arena, ends, hashes, candidate_ends, codes
        )
        for at in range(codes.size):
            if codes[at] >= 0:
                continue
            begin, end = offsets[some + at], offsets[some + at + 1]
            slot, half = hashes[at] & mask, hashes[at] & uint64(0xFFFFFFFF00000000)
            code: Word = np.int64(-1)
            while slots[slot] != 0:
                if slots[slot] & uint64(0xFFFFFFFF00000000) == half:
                    code = np.int64(slots[slot] & uint64(0xFFFFFFFF)) - 1
                    if _is_text(data, begin, end, arena, ends, code):
                        break
                    code = np.int64(-1)
                slot = (slot + uint64(1)) & mask
            if code < 0 and may_add:
                first = ends[size - 1] if size > 0 else np.int64(0)
                if 3 * (size + 1) > 2 * slots.size or first + end - begin > arena.size:
                    return some + at, size
                for place in range(end - begin):  # one by one: assigning a slice takes long to compile
                    arena[first + place] = data[begin + place]
                ends[size] = first + end - begin
                slots[slot] = half | uint64(size + 1)
                code = np.int64(size)
                size += 1
            codes[at] = code
    return out.size, size
