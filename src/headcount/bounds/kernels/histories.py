"""Compiled steps over one user's records: hash table of cells, context choice, sums and squares.

Cells met are noted in a hash table whose slots are marked with the number of the run, so that it need not be
cleared between users. A user chooses the cells, so their slots follow from a secret word: see
:mod:`headcount.events.encode.kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Codes, Draws, Flags, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.bounds.kernels import scratch
from headcount.bounds.kernels.draws import GOLDEN, mix
from headcount.bounds.kernels.grouping import Histories, UserRange, next_histories
from headcount.events.encode.kernels import hash_cell

MOST_OF_ONE, MOST_SQUARES = 1 << 30, 1 << 62
"""With more records of one column than that, or more squares, the squares are taken to sum to the latter."""

_FEW_ROWS = 128  # of a user, that there is room for at least: no hash table has fewer than 16 slots


class Modes(NamedTuple):
    """How records count: how many contexts an item has, whether a cell counts once, and in one context only.

    The secret word says where hash tables keep cells; no count depends on it.
    """

    width: int
    distinct: bool
    one_context: bool
    secret: np.uint64


class Scratch(NamedTuple):
    """Scratch space: a hash table of cells and their numbers, a heap with its cells."""

    slots: Integers
    numbers: Integers
    heap: Draws
    held: Codes


@compiled
def scratch_for(rows: Word, records: Word) -> Scratch:
    """Return scratch space for a user with so many rows, and a heap for so many records; twice as many fit in."""
    rows = max(rows, np.int64(_FEW_ROWS))
    heap, held = scratch.draws(2 * records), scratch.codes(2 * (rows + records))
    return Scratch(scratch.zeros(8 * rows), scratch.integers(8 * rows), heap, held)


@compiled
def keep_one_context(cells: Codes, weights: Integers, begin: Word, end: Word, width: Word, key: Word) -> Word:
    """Move the records of the user's one context to the front; return where they end.

    The most frequent known context wins, ties by the user's own draws; see ``draws.chosen_contexts``.
    """
    tallies = scratch.zeros(width)
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
def keep_item_subset(cells: Codes, weights: Integers, begin: Word, end: Word, width: Word, among: Flags) -> Word:
    """Move the records about items that are marked to the front; return where they end."""
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
    if weights.size == 0:
        return end - begin
    total: Word = np.int64(0)
    for at in range(begin, end):
        total += weights[at]
    return total


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
def find_slot(cell: Word, secret: Word, run: Word, mask: Word, table: Integers) -> Word:
    """Return the slot of a cell in the hash table of this run, its own or a free one."""
    name = np.int64(run) << 32 | cell
    slot = np.int64(hash_cell(cell, secret)) & mask
    there = table[slot]
    while there != name and there >> 32 == run:
        slot = (slot + 1) & mask
        there = table[slot]
    return slot


@compiled
def write_distinct_columns(
    cells: Codes, begin: Word, end: Word, width: Word, secret: Word, out: Codes, run: Word, table: Integers
) -> Word:
    """Write each different cell divided by ``width`` once; return how many there are."""
    mask = mask_for(end - begin)
    size: Word = np.int64(0)
    for at in range(begin, end):
        column = np.int64(cells[at]) // width
        slot = find_slot(column, secret, run, mask, table)
        if table[slot] != np.int64(run) << 32 | column:
            table[slot] = np.int64(run) << 32 | column
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
    secret: Word,
    run: Word,
    table: Integers,
    numbers: Integers,
) -> Word:
    """Return the sum of squares of how many records there are in each column, or 2^62 where it is large."""
    mask = mask_for(end - begin)
    total: Word = np.int64(0)
    for at in range(begin, end):
        column = np.int64(cells[at]) // width
        slot = find_slot(column, secret, run, mask, table)
        if table[slot] != np.int64(run) << 32 | column:
            table[slot] = np.int64(run) << 32 | column
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
def missing_scratch(
    starts: Integers, weights: Integers, limit: Word, slots: Word, places: Word
) -> tuple[Word, Word]:
    """Return the rows and records of a user that there must be room for; or no rows if there is enough.

    There are so many slots, and places in a heap. A user asks for the power of two from twice the rows on, and for
    as many places as records, up to a limit.
    """
    rows, records = slots // 8, places // 2
    for user in range(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        rows = max(rows, end - begin)
        if records < limit:
            records = max(records, min(limit, records_in(weights, begin, end)))
    return rows if slots < 4 * rows or places < records else np.int64(0), records


@compiled
def next_users(piece: UserRange, limit: Word, at: Word, room: Scratch) -> tuple[Word, Histories, Scratch]:
    """Return the next users of a piece, scratch space that suffices for each of them, and where to go on.

    The heap has room for as many records of a user as a limit allows.
    """
    until, users = next_histories(piece.held, piece.packed, piece.keys, at, piece.last)
    rows, records = missing_scratch(users.starts, users.weights, limit, room.slots.size, room.heap.size)
    if rows > 0:
        room = scratch_for(rows, records)
    return until, users, room
