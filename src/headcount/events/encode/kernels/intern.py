"""Compiled kernels that map ids to dense codes and look up cells.

A table of ids is open addressing over exact keys: whole numbers, or text compared byte by byte, so that two
people are never taken for one. Slots follow from the table's secret words: see :mod:`hashing
<headcount.events.encode.kernels.keyed_hash>`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Bytes, Codes, Draws, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.events.encode.kernels.keyed_hash import hash_bytes, hash_number, rest_at, word_at

Numbers = NDArray[Any]  # whole numbers of any width


_STEP = 1 << 11  # rows whose codes stay in the processor's cache until they are looked at again
_TEXTS = 1 << 6  # texts that are fetched at once


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
