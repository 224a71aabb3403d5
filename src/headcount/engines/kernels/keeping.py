"""Compiled loops of the local engine: group records by user, and keep what a bound allows of each history.

Users are dealt to blocks by the low bits of their code. :func:`deal` sorts one batch by block, so that a block's
records are one slice of every batch; :func:`keep_blocks` then takes block after block, small enough for the
processor's cache, groups it by user and goes through the users one by one. A packed store is grouped already.

A record is packed into one integer, the user's place within its block shifted by ``cell_bits``, and its cell; the
integer is held as its low 16 bits and the 8, 16 or 32 bits above them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled, inlined, uint64

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Draws = NDArray[np.uint64]
Low = NDArray[np.uint16]
High = NDArray[Any]  # uint8, uint16 or uint32, whichever holds the rest of a record
Scratch = tuple[Integers, Integers, Draws, Codes, Word]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MOST_BITS = 1 << 21  # bits for cells that fit the processor's cache
_BLOCK = 1 << 17  # records taken from a packed store at a time
_NO_BAR = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _mix(x: Word) -> Word:
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@compiled
def deal(
    users: Codes, cells: Codes, times: Integers, block_bits: Word, first_block: Word, cell_bits: Word,
    starts: Codes, low: Low, high: High, weights: Codes,
) -> None:  # fmt: skip
    """Sort a batch by block, leaving out cells below 0 and blocks that are not wanted.

    Wanted are as many blocks, from the first one on, as ``starts`` has room for. Writes where each of them starts
    and where the last one ends, the packed records and, if rows stand for several records, their weights.
    """
    mask = np.int64((1 << block_bits) - 1)
    blocks = starts.size - 1
    ahead = np.zeros(blocks + 1, dtype=np.int32)
    for row in range(users.size):
        block = (np.int64(users[row]) & mask) - first_block
        if cells[row] >= 0 and 0 <= block < blocks:
            ahead[block + 1] += 1
    starts[0] = 0
    for block in range(blocks):  # written one by one: assigning a slice takes seconds to compile
        ahead[block + 1] += ahead[block]
        starts[block + 1] = ahead[block + 1]
    for row in range(users.size):
        user = np.int64(users[row])
        block = (user & mask) - first_block
        if cells[row] >= 0 and 0 <= block < blocks:
            at = ahead[block]
            record = (user >> block_bits) << cell_bits | cells[row]
            low[at] = record & 0xFFFF
            high[at] = record >> 16
            if weights.size > 0:
                weights[at] = times[row]
            ahead[block] = at + 1


@compiled
def group(
    low: Low, high: High, weights: Codes, bases: Integers, starts: NDArray[np.int32], block: Word,
    cell_bits: Word, users: Word,
) -> tuple[Integers, Codes, Integers]:  # fmt: skip
    """Group one block by user: where each user's records start, their cells, and their weights."""
    mask = np.int64((1 << cell_bits) - 1)
    places = np.zeros(users + 1, dtype=np.int64)
    for batch in range(bases.size):
        for at in range(bases[batch] + starts[batch, block], bases[batch] + starts[batch, block + 1]):
            places[((np.int64(high[at]) << 16 | np.int64(low[at])) >> cell_bits) + 1] += 1
    for user in range(users):
        places[user + 1] += places[user]
    ahead = places[:-1].copy()
    cells = np.empty(places[users], dtype=np.int32)
    grouped = np.empty(cells.size if weights.size > 0 else 0, dtype=np.int64)
    for batch in range(bases.size):
        for at in range(bases[batch] + starts[batch, block], bases[batch] + starts[batch, block + 1]):
            record = np.int64(high[at]) << 16 | np.int64(low[at])
            user = record >> cell_bits
            to = ahead[user]
            cells[to] = record & mask
            if weights.size > 0:
                grouped[to] = weights[at]
            ahead[user] = to + 1
    return places, cells, grouped


@compiled
def unpack(
    packed_starts: Integers, packed_cells: High, times: Codes, first: Word, last: Word
) -> tuple[Word, Integers, Codes, Integers]:  # fmt: skip
    """Copy the next users of a packed store, about a block of them; return who is next, and as ``group`` does."""
    until = first + 1
    while until < last and packed_starts[until + 1] - packed_starts[first] <= _BLOCK:
        until += 1
    begin, end = packed_starts[first], packed_starts[until]
    starts = packed_starts[first : until + 1] - begin
    cells = packed_cells[begin:end].astype(np.int32)
    return until, starts, cells, times[begin:end].astype(np.int64)


@compiled
def bits_for(cells: Word) -> Draws:
    """Return a bit for each cell, all zero; none where they are too many."""
    return np.zeros(cells // 64 + 1 if 0 < cells <= _MOST_BITS else 0, dtype=np.uint64)


@compiled
def new_scratch() -> Scratch:
    """Return scratch space: a hash table of cells and their numbers, a heap with its cells, a count of runs."""
    return (
        np.zeros(1 << 10, dtype=np.int64), np.empty(1 << 10, dtype=np.int64), np.empty(0, dtype=np.uint64),
        np.empty(0, dtype=np.int32), np.int64(0),
    )  # fmt: skip


@compiled
def keep_one_context(cells: Codes, weights: Integers, begin: Word, end: Word, width: Word, key: Word) -> Word:
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


@inlined
def mask_for(entries: Word) -> Word:
    """Return the mask of a hash table that so many entries fill at most by half."""
    mask: Word = np.int64(15)
    while mask < 2 * entries:
        mask = 2 * mask + 1
    return mask


@inlined
def find(cell: Word, run: Word, mask: Word, seen: Integers) -> Word:
    """Return the slot of a cell in the hash table of this run, its own or a free one.

    Slots are marked with the number of the run, so that the table need not be cleared between users.
    """
    name = np.int64(run) << 32 | cell
    slot = (cell * 0x9E3779B1 >> 12) & mask
    there = seen[slot]
    while there != name and there >> 32 == run:
        slot = (slot + 1) & mask
        there = seen[slot]
    return slot


@compiled
def _keep(
    cells: Codes, weights: Integers, begin: Word, end: Word, distinct: Word, key: Word, bar: Word, run: Word,
    ranks: Integers, bits: Word, width: Word, heap: Draws, held: Codes, met: Draws, seen: Integers,
    numbers: Integers,
) -> Word:  # fmt: skip
    """Keep the records of smallest priority, none above ``bar``, of one user in the heap; return how many.

    Equal records are numbered: ``met`` has a bit for every cell and tells the first record of a cell from its
    equals, ``seen`` and ``numbers`` count those. Where there are too many cells for bits, ``met`` is empty and
    all records are counted. It is all zero before and after.
    """
    size: Word = np.int64(0)
    worst = bar  # the largest priority that may still enter
    mask = mask_for(end - begin)
    shift = uint64(64 - bits)
    weighted = weights.size > 0 and not distinct
    for at in range(begin, end):
        cell = np.int64(cells[at])
        top = uint64(0)
        if bits > 0:
            top = uint64(ranks[cell // width]) << shift
            if top > worst:
                continue  # so are all its equals, from here on
        weight = weights[at] if weighted else np.int64(1)
        number: Word = np.int64(0)
        bit = uint64(1) << uint64(cell & 63)
        if met.size > 0 and met[cell >> 6] & bit == 0:
            met[cell >> 6] |= bit
        else:
            slot = find(cell, run, mask, seen)
            if seen[slot] == np.int64(run) << 32 | cell:
                number = numbers[slot]
            else:
                seen[slot] = np.int64(run) << 32 | cell
                number = np.int64(1) if met.size > 0 else np.int64(0)
            numbers[slot] = number + weight
            if distinct and number > 0:
                continue
        first = _mix(key + uint64(cell + 1) * _GOLDEN)
        for each in range(number, number + weight):
            draw = first if each == 0 else _mix(first + uint64(each) * _GOLDEN)
            priority = top | (draw >> uint64(bits))
            if priority <= worst:
                size = _offer(priority, cell, heap, held, size)
                if size == heap.size:
                    worst = min(worst, heap[0])
    if met.size > 0:
        for at in range(begin, end):
            met[cells[at] >> 6] = 0
    return size


@inlined
def _likely_bar(limit: Word, total: Word, bits: Word) -> Word:
    """Return a priority that about ``limit`` records and some more stay below, to spare the heap the others."""
    enough = limit + 3 * np.sqrt(limit) + 1
    if bits > 0 or enough >= total:
        return _NO_BAR
    return uint64(enough / total * 2.0**64)


@compiled
def _longest_and_largest(starts: Integers, weights: Integers) -> tuple[Word, Word]:
    """Return the most rows any user of a block has, and the most records these stand for."""
    longest: Word = np.int64(1)
    largest: Word = np.int64(1)
    for user in range(starts.size - 1):
        length = starts[user + 1] - starts[user]
        longest = max(longest, length)
        largest = max(largest, np.sum(weights[starts[user] : starts[user + 1]]) if weights.size > 0 else length)
    return longest, largest


@inlined
def _is_admitted(key: Word, admission: Word, everyone: Word) -> Word:
    return everyone or _mix(_mix(key)) < admission


@compiled
def keep_users(
    starts: Integers, cells: Codes, weights: Integers, keys: Draws, limit: Word, admission: Word, everyone: Word,
    ranks: Integers, bits: Word, width: Word, distinct: Word, one_context: Word, edges: Integers, items: Integers,
    met: Draws, scratch: Scratch,
) -> Scratch:  # fmt: skip
    """Keep what the bound allows of every user's records, which are grouped, and count it.

    Edges count kept records, or kept cells if ``distinct``; items count the distinct items among kept cells, and
    are left alone otherwise. Returns the scratch space, which may have grown.
    """
    seen, numbers, heap, held, run = scratch
    longest, largest = _longest_and_largest(starts, weights)
    if seen.size < 4 * longest:  # the power of two from twice the rows on must fit in
        seen = np.zeros(8 * longest, dtype=np.int64)
        numbers = np.empty(seen.size, dtype=np.int64)
    if heap.size < min(limit, largest):
        heap = np.empty(min(limit, 2 * largest), dtype=np.uint64)
        held = np.empty(heap.size, dtype=np.int32)
    for user in range(keys.size):
        begin, end = starts[user], starts[user + 1]
        if begin == end or not _is_admitted(keys[user], admission, everyone):
            continue
        if one_context:
            end = keep_one_context(cells, weights, begin, end, width, keys[user])
        total = np.sum(weights[begin:end]) if weights.size > 0 else end - begin
        if total <= limit and not distinct:
            for at in range(begin, end):
                edges[cells[at]] += weights[at] if weights.size > 0 else 1
            continue
        size, run = sample(
            cells, weights, begin, end, total, distinct, keys[user], limit, run, ranks, bits, width, heap, held,
            met, seen, numbers,
        )  # fmt: skip
        for at in range(size):
            edges[held[at]] += 1
        if distinct:
            run += 1
            for at in range(size):
                item = np.int64(held[at]) // width
                slot = find(item, run, mask_for(size), seen)
                if seen[slot] != np.int64(run) << 32 | item:
                    seen[slot] = np.int64(run) << 32 | item
                    items[item] += 1
    return seen, numbers, heap, held, run


@compiled
def sample(
    cells: Codes, weights: Integers, begin: Word, end: Word, total: Word, distinct: Word, key: Word, limit: Word,
    run: Word, ranks: Integers, bits: Word, width: Word, heap: Draws, held: Codes, met: Draws, seen: Integers,
    numbers: Integers,
) -> tuple[Word, Word]:  # fmt: skip
    """Keep at most ``limit`` of one user's records in ``held``; return how many, and the last run."""
    room = min(limit, total)
    bar = _likely_bar(limit, total, bits)
    size = np.int64(0)
    while size < room:
        run += 1
        size = _keep(
            cells, weights, begin, end, distinct, key, bar, run, ranks, bits, width, heap[:room], held, met, seen,
            numbers,
        )  # fmt: skip
        if bar == _NO_BAR:
            break
        bar = _NO_BAR  # the bar was too low
    return size, run


@compiled
def keep_blocks(
    low: Low, high: High, packed_weights: Codes, bases: Integers, batch_starts: NDArray[np.int32], first: Word,
    last: Word, first_block: Word, block_bits: Word, cell_bits: Word, keys: Draws, limit: Word, admission: Word,
    everyone: Word, ranks: Integers, bits: Word, width: Word, distinct: Word, one_context: Word, edges: Integers,
    items: Integers,
) -> None:  # fmt: skip
    """Group the held blocks from ``first`` to before ``last`` by user, one after the other, and keep and count."""
    met = bits_for(edges.size if packed_weights.size == 0 else np.int64(0))
    scratch = new_scratch()
    for block in range(first, last):
        mine = keys[first_block + block :: 1 << block_bits]
        starts, cells, weights = group(
            low, high, packed_weights, bases, batch_starts, block, cell_bits, mine.size
        )  # fmt: skip
        scratch = keep_users(
            starts, cells, weights, mine, limit, admission, everyone, ranks, bits, width, distinct, one_context,
            edges, items, met, scratch,
        )  # fmt: skip


@compiled
def keep_packed(
    packed_starts: Integers, packed_cells: High, times: Codes, first: Word, last: Word, keys: Draws, limit: Word,
    admission: Word, everyone: Word, ranks: Integers, bits: Word, width: Word, distinct: Word, one_context: Word,
    edges: Integers, items: Integers,
) -> None:  # fmt: skip
    """Keep and count for the users of a packed store from ``first`` to before ``last``."""
    met = bits_for(edges.size)  # equal records are one entry there, so that the first of a cell is the only one
    scratch = new_scratch()
    while first < last:
        until, starts, cells, weights = unpack(packed_starts, packed_cells, times, first, last)
        scratch = keep_users(
            starts, cells, weights, keys[first:until], limit, admission, everyone, ranks, bits, width, distinct,
            one_context, edges, items, met, scratch,
        )  # fmt: skip
        first = until
