"""Compiled loops that turn ids into compact codes.

A table of ids is open addressing over exact keys: whole numbers, or text compared byte by byte, so that two
people are never taken for one.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64


@njit(cache=True, nogil=True)
def look_up(values, low, table, out):  # type: ignore[no-untyped-def]
    """Write ``table[value - low]``, or -1 for a value outside the table."""
    for row in range(values.size):
        place = np.int64(values[row]) - low
        out[row] = table[place] if 0 <= place < table.size else -1


@njit(cache=True, nogil=True)
def combine(items, contexts, width, out):  # type: ignore[no-untyped-def]
    """Write the cell of each item and context, -1 where the item is not in the catalogue.

    Returns how many items are outside the catalogue, and how many of the others have an unknown context.
    """
    outside, unknown = 0, 0
    for row in range(items.size):
        item, context = items[row], contexts[row]
        outside += item < 0
        unknown += (item >= 0) & (context == width - 1)
        out[row] = -1 if item < 0 else item * width + context
    return outside, unknown


@njit(cache=True, nogil=True, inline="always")
def _scatter(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> uint64(32))) * uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> uint64(32))


@njit(cache=True, nogil=True)
def intern_numbers(values, start, keys, codes, ids, size, may_add, out):  # type: ignore[no-untyped-def]
    """Code whole numbers from row ``start`` on; return the row reached and the number of ids known.

    Stops early when the table is two thirds full, to be enlarged. Unknown ids get -1 unless ``may_add``.
    """
    mask = uint64(codes.size - 1)
    for row in range(start, values.size):
        value = np.int64(values[row])
        slot = _scatter(uint64(value)) & mask
        while codes[slot] >= 0 and keys[slot] != value:
            slot = (slot + uint64(1)) & mask
        if codes[slot] < 0 and may_add:
            if 3 * (size + 1) > 2 * codes.size:
                return row, size
            keys[slot] = value
            codes[slot] = size
            ids[size] = value
            size += 1
        out[row] = codes[slot]
    return values.size, size


@njit(cache=True, nogil=True, inline="always")
def _word(data, begin, end):  # type: ignore[no-untyped-def]
    """Return up to 8 bytes as one number."""
    word = uint64(0)
    for at in range(begin, end):
        word |= uint64(data[at]) << uint64(8 * (at - begin))
    return word


@njit(cache=True, nogil=True, inline="always")
def _hash_bytes(data, begin, end):  # type: ignore[no-untyped-def]
    x = uint64(end - begin) * uint64(0x9E3779B97F4A7C15)
    at = begin
    while at + 8 <= end:
        x = _scatter(x ^ _word(data, at, at + 8)) * uint64(0x9E3779B97F4A7C15)
        at += 8
    return _scatter(x ^ _word(data, at, end))


@njit(cache=True, nogil=True)
def intern_text(data, offsets, start, slots, arena, ends, size, may_add, out):  # type: ignore[no-untyped-def]
    """Code texts from row ``start`` on, as :func:`intern_numbers` does; texts are kept in an arena.

    A slot holds half of a text's hash and its code plus one, or 0. ``ends[code]`` is where the text with that
    code ends in the arena and the next one begins.
    """
    mask = uint64(slots.size - 1)
    for row in range(start, out.size):
        begin, end = offsets[row], offsets[row + 1]
        scattered = _hash_bytes(data, begin, end)
        slot = scattered & mask
        half = scattered & uint64(0xFFFFFFFF00000000)
        code = np.int64(-1)
        while slots[slot] != 0:
            if slots[slot] & uint64(0xFFFFFFFF00000000) == half:
                code = np.int64(slots[slot] & uint64(0xFFFFFFFF)) - 1
                first = ends[code - 1] if code > 0 else np.int64(0)
                same = ends[code] - first == end - begin
                at = np.int64(0)
                while same and at < end - begin:
                    same = arena[first + at] == data[begin + at]
                    at += 1
                if same:
                    break
                code = np.int64(-1)
            slot = (slot + uint64(1)) & mask
        if code < 0 and may_add:
            first = ends[size - 1] if size > 0 else np.int64(0)
            if 3 * (size + 1) > 2 * slots.size or first + end - begin > arena.size:
                return row, size
            arena[first : first + end - begin] = data[begin:end]
            ends[size] = first + end - begin
            slots[slot] = half | uint64(size + 1)
            code = np.int64(size)
            size += 1
        out[row] = code
    return out.size, size
