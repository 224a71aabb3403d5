"""Compiled grouping of packed records by user, block by block: the input of all count kernels.

Users are dealt to blocks by the low bits of their code. :func:`sort_into_blocks` sorts one batch by block, so that
a block's records are one slice of every batch; :func:`next_histories` then groups one block by user, small enough
for the processor's cache. A packed store is grouped already; it is copied, about as many records at a time.

A record is packed into one integer, the user's place within its block shifted by ``cell_bits``, and its cell; the
integer is held as its low 16 bits and the 8, 16 or 32 bits above them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Draws, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint32, uint64
from headcount.bounds.kernels import scratch

Low = NDArray[np.uint16]
High = NDArray[Any]  # uint8, uint16 or uint32, whichever holds the rest of a record

_BLOCK = 1 << 17  # records taken from a packed store at a time


class HeldRecords(NamedTuple):
    """Records in memory: batch ``b`` begins at ``bases[b]``, and its block ``n`` at ``starts[b, n]`` from there.

    The first block held is number ``first_block`` of the log's 2^``block_bits``. Without weights every record
    counts once. So many blocks are grouped ``together``: they lie side by side in every batch.
    """

    low: Low
    high: High
    weights: Codes
    bases: Integers
    starts: Codes
    first_block: int
    block_bits: int
    cell_bits: int
    together: int


class PackedRecords(NamedTuple):
    """A packed store: where each user's entries start, their cells, and how many records each stands for."""

    starts: Integers
    cells: High
    times: Codes


class UserRange(NamedTuple):
    """Some users of a log: blocks, or users of a packed store, from ``first`` to before ``last``; everyone's keys.

    One of ``held`` and ``packed`` is None, and kernels are compiled for each of both.
    """

    held: HeldRecords | None
    packed: PackedRecords | None
    keys: Draws
    first: int
    last: int


class Histories(NamedTuple):
    """Users with their records: where each user's start, their cells, their weights if any, the users' keys."""

    starts: Integers
    cells: Codes
    weights: Integers
    keys: Draws


@compiled
def sort_into_blocks(
    users: Codes, cells: Codes, times: Integers, block_bits: Word, first_block: Word, cell_bits: Word,
    starts: Codes, whole: High, low: Low, high: High, weights: Codes,
) -> None:  # fmt: skip
    """Sort a batch by block, leaving out cells below 0 and blocks that are not wanted.

    Wanted are as many blocks, from the first one on, as ``starts`` has room for. Writes where each of them starts
    and where the last one ends, the packed records and, if rows stand for several records, their weights. Records
    are sorted ``whole`` and split afterwards: half as many writes go to and fro.
    """
    mask, first, blocks = uint64((1 << block_bits) - 1), uint64(first_block), uint64(starts.size - 1)
    ahead = np.zeros(starts.size, dtype=np.uint32)
    for row in range(users.size):
        block = (uint64(users[row]) & mask) - first  # one before the first wraps around to a large number
        if cells[row] >= 0 and block < blocks:
            ahead[block + uint64(1)] += uint32(1)
    starts[0] = 0
    for number in range(starts.size - 1):  # written one by one: assigning a slice takes seconds to compile
        ahead[number + 1] += ahead[number]
        starts[number + 1] = ahead[number + 1]
    for row in range(users.size):
        user, cell = uint64(users[row]), cells[row]
        block = (user & mask) - first
        if cell >= 0 and block < blocks:
            at = ahead[block]
            whole[at] = (user >> uint64(block_bits)) << uint64(cell_bits) | uint64(cell)
            if weights.size > 0:
                weights[at] = times[row]
            ahead[block] = at + uint32(1)
    for at in range(starts[starts.size - 1]):
        low[at] = whole[at]
    for at in range(starts[starts.size - 1]):
        high[at] = whole[at] >> 16


@compiled
def _count(
    low: Low,
    high: High,
    bases: Integers,
    starts: Codes,
    cell_bits: Word,
    first: Word,
    last: Word,
    places: Integers,
) -> None:
    """Count the records of every user of some blocks, a place ahead."""
    blocks = uint64(last - first)
    above = cell_bits - 16
    for batch in range(bases.size):
        for block in range(first, last):
            column = uint64(block - first + 1)
            begin, end = bases[batch] + starts[batch, block], bases[batch] + starts[batch, block + 1]
            upper, lower = high[begin:end], low[begin:end]  # in these no place can be negative, which takes time
            if above >= 0:  # then a user's place lies in the upper part alone
                for at in range(upper.size):
                    places[(uint64(upper[at]) >> uint64(above)) * blocks + column] += 1
            else:
                for at in range(upper.size):
                    record = uint64(upper[at]) << uint64(16) | uint64(lower[at])
                    places[(record >> uint64(cell_bits)) * blocks + column] += 1


@inlined
def _users_in(users: Word, first: Word, blocks: Word, all_blocks: Word) -> Word:
    """Return how many of so many users are in some blocks."""
    return users // all_blocks * blocks + min(max(users % all_blocks - first, np.int64(0)), blocks)


@compiled
def next_sizes(held: HeldRecords, users: Word, at: Word, last: Word) -> tuple[Word, Integers]:
    """Return how many rows each of the next users of a piece has, of so many in all, and where to go on."""
    until = min(at + held.together, last)
    sizes = scratch.zeros(_users_in(users, held.first_block + at, until - at, 1 << held.block_bits) + 1)
    _count(held.low, held.high, held.bases, held.starts, held.cell_bits, at, until, sizes)
    return until, sizes[1:]


@compiled
def next_marked(held: HeldRecords, users: Word, at: Word, last: Word, columns: Codes) -> tuple[Word, Integers]:
    """Return the same of the rows whose cell has a column, from 1 on."""
    until = min(at + held.together, last)
    sizes = scratch.zeros(_users_in(users, held.first_block + at, until - at, 1 << held.block_bits))
    low, high, _, bases, starts, _, _, cell_bits, _ = held
    mask, blocks = uint64((1 << cell_bits) - 1), uint64(until - at)
    for batch in range(bases.size):
        for block in range(at, until):
            column = uint64(block - at)
            begin, end = bases[batch] + starts[batch, block], bases[batch] + starts[batch, block + 1]
            upper, lower = high[begin:end], low[begin:end]
            for row in range(upper.size):
                record = uint64(upper[row]) << uint64(16) | uint64(lower[row])
                # no branch: which cells have a column is in no order
                sizes[(record >> uint64(cell_bits)) * blocks + column] += min(columns[record & mask], 1)
    return until, sizes


@compiled
def add_ungrouped(
    held: HeldRecords,
    first: Word,
    last: Word,
    rows: Integers,
    user_weights: Integers,
    columns: NDArray[Any],
    table: Integers,
) -> None:
    """Add every record of some blocks to a table, where its user's row and its cell's column meet.

    A user's records add what ``user_weights`` says of that user, and a cell is its own column if there are no
    columns. Where that is all, records need not be grouped: they are read where they lie, and not written once
    more.
    """
    low, high, _, bases, starts, _, _, cell_bits, _ = held
    mask, blocks = uint64((1 << cell_bits) - 1), uint64(last - first)
    for batch in range(bases.size):
        for block in range(first, last):
            column = uint64(block - first)
            begin, end = bases[batch] + starts[batch, block], bases[batch] + starts[batch, block + 1]
            upper, lower = high[begin:end], low[begin:end]
            for at in range(upper.size):
                record = uint64(upper[at]) << uint64(16) | uint64(lower[at])
                user, cell = (record >> uint64(cell_bits)) * blocks + column, record & mask
                to = uint64(rows[user]) + (uint64(columns[cell]) if columns.size > 0 else cell)
                table[to] += user_weights[user]


@compiled
def group_by_user(
    low: Low, high: High, weights: Codes, bases: Integers, starts: Codes, cell_bits: Word, first: Word, last: Word,
    users: Word,
) -> tuple[Integers, Codes, Integers]:  # fmt: skip
    """Group blocks by user, in the order of their codes: where each user's records start, cells and weights.

    What is held comes array by array, as it does everywhere inside kernels: to hand on a tuple takes Numba long to
    compile, whatever is taken from it.
    """
    mask, blocks = uint64((1 << cell_bits) - 1), uint64(last - first)
    places = scratch.zeros(users + 1)
    _count(low, high, bases, starts, cell_bits, first, last, places)
    for user in range(users):
        places[user + 1] += places[user]
    ahead = scratch.integers(users)
    for user in range(users):
        ahead[user] = places[user]
    cells = scratch.codes(places[users])
    grouped = scratch.integers(cells.size if weights.size > 0 else 0)
    for batch in range(bases.size):
        for block in range(first, last):
            column = uint64(block - first)
            begin, end = bases[batch] + starts[batch, block], bases[batch] + starts[batch, block + 1]
            upper, lower = high[begin:end], low[begin:end]
            for at in range(upper.size):
                record = uint64(upper[at]) << uint64(16) | uint64(lower[at])
                user = (record >> uint64(cell_bits)) * blocks + column
                to = uint64(ahead[user])
                cells[to] = record & mask
                if weights.size > 0:
                    grouped[to] = weights[begin + at]
                ahead[user] = to + uint64(1)
    return places, cells, grouped


@compiled
def _keys_of(keys: Draws, first: Word, blocks: Word, all_blocks: Word) -> Draws:
    """Return the keys of the users of some blocks, in the order of their codes."""
    out = scratch.draws(_users_in(keys.size, first, blocks, all_blocks))
    size = 0
    for start in range(first, keys.size, all_blocks):
        for code in range(start, min(start + blocks, keys.size)):
            out[size] = keys[code]
            size += 1
    return out


@compiled
def next_histories(
    held: HeldRecords | None, packed: PackedRecords | None, keys: Draws, at: Word, last: Word
) -> tuple[Word, Histories]:
    """Return the next users of a piece, those of some blocks or about as many of a store, and where to go on."""
    if held is not None:  # Numba leaves out what is asked of None
        low, high, times, bases, blocks, first_block, block_bits, cell_bits, together = held
        until = min(at + together, last)
        mine = _keys_of(keys, first_block + at, until - at, 1 << block_bits)
        starts, cells, weights = group_by_user(low, high, times, bases, blocks, cell_bits, at, until, mine.size)
        return until, Histories(starts, cells, weights, mine)
    if packed is not None:
        until = at + 1
        while until < last and packed.starts[until + 1] - packed.starts[at] <= _BLOCK:
            until += 1
        begin, end = packed.starts[at], packed.starts[until]
        starts = packed.starts[at : until + 1] - begin
        cells, weights = packed.cells[begin:end].astype(np.int32), packed.times[begin:end].astype(np.int64)
        return until, Histories(starts, cells, weights, keys[at:until])
    raise ValueError("a piece has its records in memory or in a store")
