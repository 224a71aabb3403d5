"""Compiled steps that the kernels share as they go through one user's records: find a cell, see each one once.

Cells met are noted in a hash table whose slots are marked with the number of the run, so that it need not be
cleared between users.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount.arrays import Codes, Draws, Flags, Integers
from headcount.compiling import Word, compiled, inlined, uint64
from headcount.engines.kernels.grouping import Histories
from headcount.engines.kernels.mixing import GOLDEN, mix

MOST_OF_ONE, MOST_SQUARES = 1 << 30, 1 << 62
"""With more records of one column than that, or more squares, the squares are taken to sum to the latter."""


class Modes(NamedTuple):
    """How records count: how many contexts an item has, whether a cell counts once, and in one context only."""

    width: int
    distinct: bool
    one_context: bool


class Scratch(NamedTuple):
    """Scratch space: a hash table of cells and their numbers, a heap with its cells, a count of runs."""

    seen: Integers
    numbers: Integers
    heap: Draws
    held: Codes
    run: Word


@compiled
def new_scratch() -> Scratch:
    """Return scratch space, which kernels let grow."""
    return Scratch(
        np.zeros(1 << 10, dtype=np.int64), np.empty(1 << 10, dtype=np.int64), np.empty(0, dtype=np.uint64),
        np.empty(0, dtype=np.int32), np.int64(0),
    )  # fmt: skip


@compiled
def keep_one_context(histories: Histories, begin: Word, end: Word, width: Word, key: Word) -> Word:
    """Move the records of the user's one context to the front; return where they end.

    The most frequent known context wins, ties by the user's own draws; see ``draws.chosen_contexts``.
    """
    cells, weights = histories.cells, histories.weights
    tallies = np.zeros(width, dtype=np.int64)
    for at in range(begin, end):
        tallies[cells[at] % width] += weights[at] if weights.size else 1
    best, tickets = width - 1, uint64(0)
    for context in range(width - 1):
        ticket = mix(mix(key) + uint64(context + 1) * GOLDEN)
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


@compiled
def keep_among(histories: Histories, begin: Word, end: Word, width: Word, among: Flags) -> Word:
    """Move the records about items that are marked to the front; return where they end."""
    cells, weights = histories.cells, histories.weights
    to = begin
    for at in range(begin, end):
        if among[cells[at] // width]:
            cells[to] = cells[at]
            if weights.size:
                weights[to] = weights[at]
            to += 1
    return to


@compiled
def records_in(weights: Integers, begin: Word, end: Word) -> Word:
    """Return how many records the rows stand for."""
    return np.sum(weights[begin:end]) if weights.size > 0 else end - begin


@compiled
def add_rows(table: Integers, cells: Codes, weights: Integers, begin: Word, end: Word, weight: Word) -> None:
    """Count rows in a table, every record they stand for with a weight; apart, so that the loop is a tight one."""
    for at in range(begin, end):
        table[cells[at]] += weight * weights[at] if weights.size > 0 else weight


@inlined
def mask_for(entries: Word) -> Word:
    """Return the mask of a hash table that so many entries fill at most by half."""
    mask: Word = np.int64(15)
    while mask < 2 * entries:
        mask = 2 * mask + 1
    return mask


@inlined
def find(cell: Word, run: Word, mask: Word, seen: Integers) -> Word:
    """Return the slot of a cell in the hash table of this run, its own or a free one."""
    name = np.int64(run) << 32 | cell
    slot = (cell * 0x9E3779B1 >> 12) & mask
    there = seen[slot]
    while there != name and there >> 32 == run:
        slot = (slot + 1) & mask
        there = seen[slot]
    return slot


@compiled
def each_once(cells: Codes, begin: Word, end: Word, width: Word, out: Codes, run: Word, seen: Integers) -> Word:
    """Write each different cell divided by ``width`` once; return how many there are."""
    mask = mask_for(end - begin)
    size: Word = np.int64(0)
    for at in range(begin, end):
        column = np.int64(cells[at]) // width
        slot = find(column, run, mask, seen)
        if seen[slot] != np.int64(run) << 32 | column:
            seen[slot] = np.int64(run) << 32 | column
            out[size] = column
            size += 1
    return size


@compiled
def squares_in(
    cells: Codes,
    weights: Integers,
    begin: Word,
    end: Word,
    width: Word,
    run: Word,
    seen: Integers,
    numbers: Integers,
) -> Word:
    """Return the sum of squares of how many records there are in each column, or 2^62 where it is large."""
    mask = mask_for(end - begin)
    total: Word = np.int64(0)
    for at in range(begin, end):
        column = np.int64(cells[at]) // width
        slot = find(column, run, mask, seen)
        if seen[slot] != np.int64(run) << 32 | column:
            seen[slot] = np.int64(run) << 32 | column
            numbers[slot] = 0
        before = numbers[slot]
        now = before + (weights[at] if weights.size > 0 else 1)
        numbers[slot] = now
        if now > MOST_OF_ONE or total == MOST_SQUARES:
            total = np.int64(MOST_SQUARES)
        else:
            total = min(total + (now - before) * (now + before), np.int64(MOST_SQUARES))
    return total


@compiled
def with_room(scratch: Scratch, histories: Histories, limit: Word) -> Scratch:
    """Return scratch space for any user of a block, and a heap for at most ``limit`` of their records."""
    seen, numbers, heap, held, run = scratch
    starts = histories.starts
    longest: Word = np.int64(1)
    largest: Word = np.int64(1)
    for user in range(starts.size - 1):
        longest = max(longest, starts[user + 1] - starts[user])
        if limit > 0:
            largest = max(largest, records_in(histories.weights, starts[user], starts[user + 1]))
    if seen.size < 4 * longest:  # the power of two from twice the rows on must fit in
        seen = np.zeros(8 * longest, dtype=np.int64)
        numbers = np.empty(seen.size, dtype=np.int64)
    if heap.size < min(limit, largest):
        heap = np.empty(min(limit, 2 * largest), dtype=np.uint64)
    if held.size < max(longest, heap.size):
        held = np.empty(2 * max(longest, heap.size), dtype=np.int32)
    return Scratch(seen, numbers, heap, held, run)
