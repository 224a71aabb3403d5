"""Compiled loops of the local engine: group records by user, and keep what a bound allows of each history.

Users are dealt to blocks by the low bits of their code. :func:`deal` sorts one batch by block, in order, so
that a block's records are one slice of every batch; :func:`keep_records` and :func:`keep_cells` then take a
block, small enough for the processor's cache, group it by user and go through the users one by one.

A record is packed into one integer: the user's place within its block, shifted by ``cell_bits``, and its cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from headcount.compiling import Word, compiled, inlined

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Draws = NDArray[np.uint64]
Packed = NDArray[Any]  # uint32 or int64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NO_BAR = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _mix(x: Word) -> Word:
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@compiled
def deal(
    users: Codes, cells: Codes, times: Integers, bits: Word, first_block: Word, blocks: Word, cell_bits: Word,
    starts: Integers, records: Packed, weights: Integers,
) -> None:  # fmt: skip
    """Sort a batch by block, leaving out cells below 0 and blocks outside the wanted ones.

    Writes where each block starts, the packed records and, if rows stand for several records, their weights.
    """
    mask = np.int64((1 << bits) - 1)
    starts[:] = 0
    for row in range(users.size):
        block = (np.int64(users[row]) & mask) - first_block
        if cells[row] >= 0 and 0 <= block < blocks:
            starts[block + 1] += 1
    for block in range(blocks):
        starts[block + 1] += starts[block]
    ahead = starts[:-1].copy()
    for row in range(users.size):
        user = np.int64(users[row])
        block = (user & mask) - first_block
        if cells[row] >= 0 and 0 <= block < blocks:
            at = ahead[block]
            records[at] = (user >> bits) << cell_bits | cells[row]
            if weights.size:
                weights[at] = times[row]
            ahead[block] = at + 1


@compiled
def group(records: Packed, weights: Integers, cell_bits: Word, users: Word) -> tuple[Integers, Codes, Integers]:
    """Group a block by user: where each user's records start, their cells, and their weights."""
    starts = np.zeros(users + 1, dtype=np.int64)
    for at in range(records.size):
        starts[(np.int64(records[at]) >> cell_bits) + 1] += 1
    for user in range(users):
        starts[user + 1] += starts[user]
    mask = np.int64((1 << cell_bits) - 1)
    ahead = starts[:-1].copy()
    cells = np.empty(records.size, dtype=np.int32)
    grouped = np.empty(weights.size, dtype=np.int64)
    for at in range(records.size):
        user = np.int64(records[at]) >> cell_bits
        to = ahead[user]
        cells[to] = np.int64(records[at]) & mask
        if weights.size:
            grouped[to] = weights[at]
        ahead[user] = to + 1
    return starts, cells, grouped


@compiled
def _keep_one_context(cells: Codes, weights: Integers, begin: Word, end: Word, width: Word, key: Word) -> Word:
    """Move the records of the user's one context to the front; return where they end.

    The most frequent known context wins, ties by the user's own draws; see ``draws.chosen_contexts``.
    """
    tallies = np.zeros(width, dtype=np.int64)
    for at in range(begin, end):
        tallies[cells[at] % width] += weights[at] if weights.size else 1
    best, tickets = width - 1, uint64(0)
    for context in range(width - 1):
        ticket = _mix(_mix(key) + uint64(context + 1) * _GOLDEN)
        ahead = best == width - 1 or tallies[context] > tallies[best]
        if tallies[context] > 0 and (ahead or (tallies[context] == tallies[best] and ticket < tickets)):
            best, tickets = context, ticket
    to = begin
    for at in range(begin, end):
        if cells[at] % width == best:
            cells[to] = cells[at]
            if weights.size:
                weights[to] = weights[at]
            to += 1
    return to


@inlined
def _after(priority: Word, cell: Word, other: Word, its: Word) -> Word:
    return priority > other or (priority == other and cell > its)


@compiled
def _offer(priority: Word, cell: Word, heap: Draws, held: Codes, size: Word) -> Word:
    """Put a record into a heap (last to keep on top), in place of the top if it is full; return its size."""
    if size < heap.size:
        at = size
        while at > 0:
            parent = (at - 1) >> 1
            if _after(heap[parent], held[parent], priority, cell):
                break
            heap[at], held[at] = heap[parent], held[parent]
            at = parent
        size += 1
    else:
        if not _after(heap[0], held[0], priority, cell):
            return size
        at = 0
        while True:
            child = 2 * at + 1
            if child >= heap.size:
                break
            if child + 1 < heap.size and _after(heap[child + 1], held[child + 1], heap[child], held[child]):
                child += 1
            if not _after(heap[child], held[child], priority, cell):
                break
            heap[at], held[at] = heap[child], held[child]
            at = child
    heap[at] = priority
    held[at] = cell
    return size


@compiled
def _keep(
    cells: Codes, weights: Integers, begin: Word, end: Word, distinct: Word, key: Word, bar: Word, run: Word,
    ranks: Integers, bits: Word, width: Word, heap: Draws, held: Codes, seen: Integers, numbers: Integers,
) -> Word:  # fmt: skip
    """Keep the records of smallest priority, none above ``bar``, of one user in the heap; return how many.

    ``seen`` is a hash table of this user's cells, marked with the number of the run so that it need not be cleared;
    ``numbers`` says how many equal records there have been.
    """
    size: Word = np.int64(0)
    worst = bar  # the largest priority that may still enter
    mask: Word = np.int64(15)
    while mask < 2 * (end - begin):
        mask = 2 * mask + 1
    mark = np.int64(run) << 32
    shift = uint64(64 - bits)
    weighted = weights.size > 0 and not distinct
    for at in range(begin, end):
        cell = np.int64(cells[at])
        top = uint64(0)
        if bits > 0:
            top = uint64(ranks[cell // width]) << shift
            if top > worst:
                continue  # so are all its equals, from here on
        slot = (cell * 0x9E3779B1 >> 12) & mask
        there = seen[slot]
        while there != mark | cell and there >> 32 == run:
            slot = (slot + 1) & mask
            there = seen[slot]
        weight = weights[at] if weighted else np.int64(1)
        number = np.int64(0)
        if there != mark | cell:
            seen[slot] = mark | cell
        elif distinct:
            continue
        else:
            number = numbers[slot]
        numbers[slot] = number + weight
        first = _mix(key + uint64(cell + 1) * _GOLDEN)
        for each in range(number, number + weight):
            draw = first if each == 0 else _mix(first + uint64(each) * _GOLDEN)
            priority = top | (draw >> uint64(bits))
            if priority <= worst:
                size = _offer(priority, cell, heap, held, size)
                if size == heap.size:
                    worst = min(worst, heap[0])
    return size


@inlined
def _likely_bar(limit: Word, total: Word, bits: Word) -> Word:
    """Return a priority that about ``limit`` records and some more stay below, to spare the heap the others."""
    enough = limit + 4 * np.sqrt(limit) + 4
    if bits > 0 or enough >= total:
        return _NO_BAR
    return uint64(enough / total * 2.0**64)


@compiled
def keep_block(
    starts: Integers, cells: Codes, weights: Integers, keys: Draws, limit: Word, ranks: Integers, bits: Word,
    width: Word, distinct: Word, one_context: Word, edges: Integers, items: Integers,
) -> None:  # fmt: skip
    """Keep what the bound allows of every user of a block, and add it to the counts.

    Edges count kept records, or kept cells if ``distinct``; items count the distinct items among kept cells, and
    are left alone otherwise.
    """
    longest: Word = np.int64(8)
    largest: Word = np.int64(1)
    for user in range(starts.size - 1):
        length = starts[user + 1] - starts[user]
        longest = max(longest, length)
        largest = max(largest, np.sum(weights[starts[user] : starts[user + 1]]) if weights.size > 0 else length)
    seen = np.zeros(4 * longest, dtype=np.int64)  # the power of two from twice the records on fits in
    numbers = np.empty(4 * longest, dtype=np.int64)
    heap = np.empty(min(limit, largest), dtype=np.uint64)
    held = np.empty(heap.size, dtype=np.int32)
    run: Word = np.int64(0)
    for user in range(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        if one_context:
            end = _keep_one_context(cells, weights, begin, end, width, keys[user])
        total = end - begin
        if weights.size > 0:
            total = np.sum(weights[begin:end])
        if total <= limit and not distinct:
            for at in range(begin, end):
                edges[cells[at]] += weights[at] if weights.size > 0 else 1
            continue
        run += 1
        size = _keep(
            cells, weights, begin, end, distinct, keys[user], _likely_bar(limit, total, bits), run, ranks, bits,
            width, heap, held, seen, numbers,
        )  # fmt: skip
        if size < min(limit, total):
            run += 1
            size = _keep(
                cells, weights, begin, end, distinct, keys[user], _NO_BAR, run, ranks, bits, width, heap, held, seen,
                numbers,
            )  # fmt: skip
        for at in range(size):
            edges[held[at]] += 1
        if distinct:
            mine = np.sort(held[:size])
            for at in range(size):
                if at == 0 or mine[at] // width != mine[at - 1] // width:
                    items[mine[at] // width] += 1


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
    for block in range(length // 8 + 1):
        word = uint64(length & 0xFF) << uint64(56) if block == length // 8 else uint64(0)
        for at in range(8 * block, min(8 * block + 8, length)):
            word |= uint64(data[begin + at]) << uint64(8 * (at - 8 * block))
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
