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


@njit(cache=True, nogil=True)
def _hash_bytes(data, begin, end):  # type: ignore[no-untyped-def]
    x = uint64(end - begin) * uint64(0x9E3779B97F4A7C15)
    for at in range(begin, end):
        x = (x ^ uint64(data[at])) * uint64(0x100000001B3)
    return _scatter(x)


@njit(cache=True, nogil=True)
def intern_text(  # type: ignore[no-untyped-def]
    data, offsets, start, hashes, codes, arena, ends, size, may_add, out
):
    """Code texts from row ``start`` on, as :func:`intern_numbers` does; texts are kept in an arena.

    ``ends[code]`` is where the text with that code ends in the arena and the next one begins.
    """
    mask = uint64(codes.size - 1)
    for row in range(start, out.size):
        begin, end = offsets[row], offsets[row + 1]
        scattered = _hash_bytes(data, begin, end)
        slot = scattered & mask
        while codes[slot] >= 0:
            if hashes[slot] == scattered:
                known = codes[slot]
                first = ends[known - 1] if known > 0 else np.int64(0)
                same = ends[known] - first == end - begin
                at = np.int64(0)
                while same and at < end - begin:
                    same = arena[first + at] == data[begin + at]
                    at += 1
                if same:
                    break
            slot = (slot + uint64(1)) & mask
        if codes[slot] < 0 and may_add:
            first = ends[size - 1] if size > 0 else np.int64(0)
            if 3 * (size + 1) > 2 * codes.size or first + end - begin > arena.size:
                return row, size
            arena[first : first + end - begin] = data[begin:end]
            ends[size] = first + end - begin
            hashes[slot] = scattered
            codes[slot] = size
            size += 1
        out[row] = codes[slot]
    return out.size, size
