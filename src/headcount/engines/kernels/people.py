"""Compiled loops of the local engine that count people into a hash table: for more cells than memory should hold.

The table is open-addressed and grows by doubling when it is three quarters full. A free slot has the column -1.
Users are grouped as :mod:`headcount.engines.kernels` groups them, block by block or from a packed store.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled, inlined, uint64
from headcount.engines.kernels.keeping import (
    Codes,
    Draws,
    High,
    Integers,
    Low,
    Scratch,
    group,
    keep_one_context,
    new_scratch,
    unpack,
)
from headcount.engines.kernels.weighing import each_once, longest_of

Table = tuple[Codes, Codes, Word]
"""The columns in the slots, how many people are in each, and how many slots are taken."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled
def new_table(slots: Word) -> Table:
    """Return an empty table with so many slots, a power of two."""
    return np.full(slots, -1, dtype=np.int32), np.zeros(slots, dtype=np.int32), np.int64(0)


@inlined
def _slot_of(column: Word, columns: Codes) -> Word:
    """Return the slot of a column, its own or a free one."""
    mask = np.int64(columns.size - 1)
    mixed = uint64(column) * _GOLDEN
    slot = np.int64((mixed ^ (mixed >> uint64(32))) & uint64(mask))
    while columns[slot] != column and columns[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


@compiled
def _grown(table: Table) -> Table:
    columns, people, taken = table
    wider, counts, _ = new_table(2 * columns.size)
    for slot in range(columns.size):
        if columns[slot] >= 0:
            to = _slot_of(columns[slot], wider)
            wider[to] = columns[slot]
            counts[to] = people[slot]
    return wider, counts, taken


@compiled
def count_users(
    starts: Integers, cells: Codes, weights: Integers, keys: Draws, column_width: Word, width: Word,
    one_context: Word, table: Table, scratch: Scratch,
) -> tuple[Table, Scratch]:  # fmt: skip
    """Count every user once in each column, ``column_width`` cells wide, that they have a record in."""
    seen, numbers, heap, held, run = scratch
    columns, people, taken = table
    longest = longest_of(starts)
    if seen.size < 4 * longest:
        seen = np.zeros(8 * longest, dtype=np.int64)
    if held.size < longest:
        held = np.empty(2 * longest, dtype=np.int32)
    for user in range(keys.size):
        begin, end = starts[user], starts[user + 1]
        if one_context and begin < end:
            end = keep_one_context(cells, weights, begin, end, width, keys[user])
        if begin == end:
            continue
        run += 1
        size = each_once(cells, begin, end, column_width, held, run, seen)
        for at in range(size):
            slot = _slot_of(held[at], columns)
            if columns[slot] < 0:
                columns[slot] = held[at]
                taken += 1
            people[slot] += 1
            if 4 * taken > 3 * columns.size:
                columns, people, taken = _grown((columns, people, taken))
    return (columns, people, taken), (seen, numbers, heap, held, run)


@compiled
def count_blocks(
    low: Low, high: High, packed_weights: Codes, bases: Integers, batch_starts: NDArray[np.int32], first: Word,
    last: Word, first_block: Word, block_bits: Word, cell_bits: Word, keys: Draws, column_width: Word, width: Word,
    one_context: Word, table: Table,
) -> Table:  # fmt: skip
    """Group the held blocks from ``first`` to before ``last`` by user, one after the other, and count people."""
    scratch = new_scratch()
    for block in range(first, last):
        mine = keys[first_block + block :: 1 << block_bits]
        starts, cells, weights = group(
            low, high, packed_weights, bases, batch_starts, block, cell_bits, mine.size
        )  # fmt: skip
        table, scratch = count_users(
            starts, cells, weights, mine, column_width, width, one_context, table, scratch
        )  # fmt: skip
    return table


@compiled
def count_packed(
    packed_starts: Integers, packed_cells: High, times: Codes, first: Word, last: Word, keys: Draws,
    column_width: Word, width: Word, one_context: Word, table: Table,
) -> Table:  # fmt: skip
    """Count people for the users of a packed store from ``first`` to before ``last``."""
    scratch = new_scratch()
    while first < last:
        until, starts, cells, weights = unpack(packed_starts, packed_cells, times, first, last)
        table, scratch = count_users(
            starts, cells, weights, keys[first:until], column_width, width, one_context, table, scratch
        )  # fmt: skip
        first = until
    return table
