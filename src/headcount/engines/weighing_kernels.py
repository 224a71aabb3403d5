"""Compiled loops of the local engine that look at all records of a user: weigh them, count them, collect them.

They take users grouped as :mod:`headcount.engines.kernels` groups them, block by block or from a packed store.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled
from headcount.engines.kernels import (
    Codes,
    Draws,
    High,
    Integers,
    Low,
    Scratch,
    bits_for,
    find,
    group,
    keep_one_context,
    mask_for,
    new_scratch,
    sample,
    unpack,
)

_NO_RANKS = np.empty(0, dtype=np.int64)


@compiled
def _once(cells: Codes, begin: Word, end: Word, width: Word, out: Codes, run: Word, seen: Integers) -> Word:
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
def _longest(starts: Integers) -> Word:
    longest: Word = np.int64(1)
    for user in range(starts.size - 1):
        longest = max(longest, starts[user + 1] - starts[user])
    return longest


@compiled
def weigh_users(
    starts: Integers, cells: Codes, weights: Integers, keys: Draws, limit: Word, unit: Word, measured: Word,
    width: Word, distinct: Word, one_context: Word, edges: Integers, items: Integers, scratch: Scratch,
) -> Scratch:  # fmt: skip
    """Weigh every user's records so that they add up to at most ``limit`` units, and count them.

    If ``measured`` is the width of a table's columns in cells (1 for edges) instead of 0, the users are counted by
    the number of their records in that table: into ``edges``, whose last place is for that many or more.
    """
    seen, numbers, heap, held, run = scratch
    longest = _longest(starts)
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
        if not distinct:
            total = np.sum(weights[begin:end]) if weights.size > 0 else end - begin
            if measured > 0:
                edges[min(total, edges.size) - 1] += 1
                continue
            weight = unit if total <= limit else unit * limit // total
            for at in range(begin, end):
                edges[cells[at]] += weight * weights[at] if weights.size > 0 else weight
            continue
        for each in (np.int64(1), np.int64(width)):
            if measured > 0 and measured != each:
                continue
            run += 1
            size = _once(cells, begin, end, each, held, run, seen)
            if measured > 0:
                edges[min(size, edges.size) - 1] += 1
                break
            weight = unit if size <= limit else unit * limit // size
            table = edges if each == 1 and width > 1 else items
            for at in range(size):
                table[held[at]] += weight
            if width == 1:  # one column a cell: both tables are the same
                for at in range(size):
                    edges[held[at]] += weight
                break
    return seen, numbers, heap, held, run


@compiled
def weigh_blocks(
    low: Low, high: High, packed_weights: Codes, bases: Integers, batch_starts: NDArray[np.int32], first: Word,
    last: Word, first_block: Word, block_bits: Word, cell_bits: Word, keys: Draws, limit: Word, unit: Word,
    measured: Word, width: Word, distinct: Word, one_context: Word, edges: Integers, items: Integers,
) -> None:  # fmt: skip
    """Group the held blocks from ``first`` to before ``last`` by user, one after the other, and weigh."""
    scratch = new_scratch()
    for block in range(first, last):
        mine = keys[first_block + block :: 1 << block_bits]
        starts, cells, weights = group(
            low, high, packed_weights, bases, batch_starts, block, cell_bits, mine.size
        )  # fmt: skip
        scratch = weigh_users(
            starts, cells, weights, mine, limit, unit, measured, width, distinct, one_context, edges, items,
            scratch,
        )  # fmt: skip


@compiled
def weigh_packed(
    packed_starts: Integers, packed_cells: High, times: Codes, first: Word, last: Word, keys: Draws, limit: Word,
    unit: Word, measured: Word, width: Word, distinct: Word, one_context: Word, edges: Integers, items: Integers,
) -> None:  # fmt: skip
    """Weigh for the users of a packed store from ``first`` to before ``last``."""
    scratch = new_scratch()
    while first < last:
        until, starts, cells, weights = unpack(packed_starts, packed_cells, times, first, last)
        scratch = weigh_users(
            starts, cells, weights, keys[first:until], limit, unit, measured, width, distinct, one_context, edges,
            items, scratch,
        )  # fmt: skip
        first = until


@compiled
def gather_users(
    starts: Integers, cells: Codes, weights: Integers, keys: Draws, most: Word, column_width: Word, width: Word,
    distinct: Word, one_context: Word, ahead: Integers, columns: Codes, met: Draws, scratch: Scratch,
) -> Scratch:  # fmt: skip
    """Write the columns of every user's records, at most ``most`` random ones, where ``ahead`` says."""
    seen, numbers, heap, held, run = scratch
    longest = _longest(starts)
    if seen.size < 4 * longest:
        seen = np.zeros(8 * longest, dtype=np.int64)
        numbers = np.empty(seen.size, dtype=np.int64)
    if held.size < max(longest, most):
        held = np.empty(2 * max(longest, most), dtype=np.int32)
    for user in range(keys.size):
        begin, end = starts[user], starts[user + 1]
        if one_context and begin < end:
            end = keep_one_context(cells, weights, begin, end, width, keys[user])
        if begin == end:
            continue
        total = np.sum(weights[begin:end]) if weights.size > 0 else end - begin
        if distinct:
            run += 1
            size = _once(cells, begin, end, column_width, held, run, seen)
        elif total <= most:
            to = ahead[total]
            for at in range(begin, end):
                for _ in range(weights[at] if weights.size > 0 else 1):
                    columns[to] = cells[at] // column_width
                    to += 1
            ahead[total] = to
            continue
        else:
            if heap.size < most:
                heap = np.empty(most, dtype=np.uint64)
            size, run = sample(
                cells, weights, begin, end, total, distinct, keys[user], most, run, _NO_RANKS, np.int64(0), width,
                heap, held, met, seen, numbers,
            )  # fmt: skip
            for at in range(size):
                held[at] = held[at] // column_width
        to = ahead[size]
        for at in range(size):
            columns[to + at] = held[at]
        ahead[size] = to + size
    return seen, numbers, heap, held, run


@compiled
def gather_blocks(
    low: Low, high: High, packed_weights: Codes, bases: Integers, batch_starts: NDArray[np.int32], first: Word,
    last: Word, first_block: Word, block_bits: Word, cell_bits: Word, keys: Draws, most: Word, column_width: Word,
    width: Word, cell_count: Word, distinct: Word, one_context: Word, ahead: Integers, columns: Codes,
) -> None:  # fmt: skip
    """Group the held blocks from ``first`` to before ``last`` by user, one after the other, and gather."""
    met = bits_for(cell_count if packed_weights.size == 0 else np.int64(0))
    scratch = new_scratch()
    for block in range(first, last):
        mine = keys[first_block + block :: 1 << block_bits]
        starts, cells, weights = group(
            low, high, packed_weights, bases, batch_starts, block, cell_bits, mine.size
        )  # fmt: skip
        scratch = gather_users(
            starts, cells, weights, mine, most, column_width, width, distinct, one_context, ahead, columns, met,
            scratch,
        )  # fmt: skip


@compiled
def gather_packed(
    packed_starts: Integers, packed_cells: High, times: Codes, first: Word, last: Word, keys: Draws, most: Word,
    column_width: Word, width: Word, cell_count: Word, distinct: Word, one_context: Word, ahead: Integers,
    columns: Codes,
) -> None:  # fmt: skip
    """Gather for the users of a packed store from ``first`` to before ``last``."""
    met = bits_for(cell_count)
    scratch = new_scratch()
    while first < last:
        until, starts, cells, weights = unpack(packed_starts, packed_cells, times, first, last)
        scratch = gather_users(
            starts, cells, weights, keys[first:until], most, column_width, width, distinct, one_context, ahead,
            columns, met, scratch,
        )  # fmt: skip
        first = until
