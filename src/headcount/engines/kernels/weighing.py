"""Compiled loops of the local engine that look at all records of a user: weigh them, count them, collect them.

They take users grouped as :mod:`headcount.engines.kernels` groups them, block by block or from a packed store.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled, inlined
from headcount.engines.kernels.keeping import (
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
_PLENTY = 1 << 62
"""More than a limit, a factor and a unit multiply to: with so much to share among, a record weighs nothing."""


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
def longest_of(starts: Integers) -> Word:
    """Return the most rows any user of a block has, or 1."""
    longest: Word = np.int64(1)
    for user in range(starts.size - 1):
        longest = max(longest, starts[user + 1] - starts[user])
    return longest


@inlined
def _weight(size: Word, limit: Word, unit: Word, squares: Word) -> Word:
    """Return what each of ``size`` records weighs where all weigh alike."""
    if size <= limit:
        return unit
    if not squares:
        return unit * limit // size
    squared = unit * unit * limit // size
    root = np.int64(math.sqrt(squared))
    while root * root > squared:
        root -= 1
    while (root + 1) * (root + 1) <= squared:
        root += 1
    return root


@compiled
def _fill(limit: Word, shares: Integers, times: Integers, size: Word) -> tuple[Word, Word]:
    """Find the records that weigh 1, and set their ``shares`` to 0; return what is left of the limit, and to whom.

    ``shares`` are the factors of ``size`` records, each as often as ``times`` says. Where all of them together are
    2^62 or more, that is what is returned, and the weights are the same: no record weighs 1 then, or anything.
    """
    left, others = np.int64(limit), np.int64(0)
    for at in range(size):
        others = min(others + shares[at] * times[at], np.int64(_PLENTY))  # a term is below 2^46
    while True:
        full, freed = np.int64(0), np.int64(0)
        for at in range(size):
            if left * shares[at] > others:
                full += times[at]
                freed += shares[at] * times[at]
                shares[at] = 0
        if full == 0:
            return left, others
        left -= full
        others -= freed


@compiled
def _lean(
    table: Integers, columns: Codes, size: Word, times: Integers, limit: Word, unit: Word, width: Word,
    factors: Integers,
) -> None:  # fmt: skip
    """Count ``size`` records of a user above the limit, each with the weight that the factor of its item gives."""
    shares = np.empty(size, dtype=np.int64)
    for at in range(size):
        shares[at] = factors[columns[at] // width]
    left, others = _fill(limit, shares, times, size)
    for at in range(size):
        weight = unit if shares[at] == 0 else unit * left * shares[at] // others
        table[columns[at]] += weight * times[at]


@compiled
def weigh_users(
    starts: Integers, cells: Codes, weights: Integers, keys: Draws, limit: Word, unit: Word, measured: Word,
    squares: Word, apart: Word, factors: Integers, width: Word, distinct: Word, one_context: Word,
    edges: Integers, items: Integers, scratch: Scratch,
) -> Scratch:  # fmt: skip
    """Weigh every user's records so that they add up to at most ``limit`` units, and count them.

    If ``measured`` is the width of a table's columns in cells (1 for edges) instead of 0, the users are counted by
    the number of their records in that table: into ``edges``, whose last place is for that many or more.
    With ``squares`` it is the sum of squares that is limited; with ``apart`` users above the limit are counted in
    the second half of the tables; ``factors`` say how their records lean, if there are any.
    """
    seen, numbers, heap, held, run = scratch
    longest = longest_of(starts)
    if seen.size < 4 * longest:
        seen = np.zeros(8 * longest, dtype=np.int64)
    if held.size < longest:
        held = np.empty(2 * longest, dtype=np.int32)
    once = np.ones(longest if factors.size > 0 else np.int64(1), dtype=np.int64)
    edges_above, items_above = edges, items
    if apart:
        edges_above, items_above = edges[edges.size // 2 :], items[items.size // 2 :]
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
            table = edges if total <= limit else edges_above
            if factors.size > 0 and total > limit:
                times = weights[begin:end] if weights.size > 0 else once
                _lean(table, cells[begin:end], end - begin, times, limit, unit, width, factors)
                continue
            weight = _weight(total, limit, unit, squares)
            for at in range(begin, end):
                table[cells[at]] += weight * weights[at] if weights.size > 0 else weight
            continue
        for each in (np.int64(1), np.int64(width)):
            if measured > 0 and measured != each:
                continue
            run += 1
            size = each_once(cells, begin, end, each, held, run, seen)
            if measured > 0:
                edges[min(size, edges.size) - 1] += 1
                break
            table, beside = edges if size <= limit else edges_above, items if size <= limit else items_above
            if each > 1 or width == 1:
                table, beside = beside, table
            # one column a cell: both tables are the same
            for second in range(2 if width == 1 else 1):
                into = beside if second else table
                if factors.size > 0 and size > limit:
                    _lean(into, held, size, once, limit, unit, width // each, factors)
                    continue
                weight = _weight(size, limit, unit, squares)
                for at in range(size):
                    into[held[at]] += weight
            if width == 1:
                break
    return seen, numbers, heap, held, run


@compiled
def weigh_blocks(
    low: Low, high: High, packed_weights: Codes, bases: Integers, batch_starts: NDArray[np.int32], first: Word,
    last: Word, first_block: Word, block_bits: Word, cell_bits: Word, keys: Draws, limit: Word, unit: Word,
    measured: Word, squares: Word, apart: Word, factors: Integers, width: Word, distinct: Word, one_context: Word,
    edges: Integers, items: Integers,
) -> None:  # fmt: skip
    """Group the held blocks from ``first`` to before ``last`` by user, one after the other, and weigh."""
    scratch = new_scratch()
    for block in range(first, last):
        mine = keys[first_block + block :: 1 << block_bits]
        starts, cells, weights = group(
            low, high, packed_weights, bases, batch_starts, block, cell_bits, mine.size
        )  # fmt: skip
        scratch = weigh_users(
            starts, cells, weights, mine, limit, unit, measured, squares, apart, factors, width, distinct,
            one_context, edges, items, scratch,
        )  # fmt: skip


@compiled
def weigh_packed(
    packed_starts: Integers, packed_cells: High, times: Codes, first: Word, last: Word, keys: Draws, limit: Word,
    unit: Word, measured: Word, squares: Word, apart: Word, factors: Integers, width: Word, distinct: Word,
    one_context: Word, edges: Integers, items: Integers,
) -> None:  # fmt: skip
    """Weigh for the users of a packed store from ``first`` to before ``last``."""
    scratch = new_scratch()
    while first < last:
        until, starts, cells, weights = unpack(packed_starts, packed_cells, times, first, last)
        scratch = weigh_users(
            starts, cells, weights, keys[first:until], limit, unit, measured, squares, apart, factors, width,
            distinct, one_context, edges, items, scratch,
        )  # fmt: skip
        first = until


@compiled
def gather_users(
    starts: Integers, cells: Codes, weights: Integers, keys: Draws, most: Word, column_width: Word, width: Word,
    distinct: Word, one_context: Word, ahead: Integers, columns: Codes, met: Draws, scratch: Scratch,
) -> Scratch:  # fmt: skip
    """Write the columns of every user's records, at most ``most`` random ones, where ``ahead`` says."""
    seen, numbers, heap, held, run = scratch
    longest = longest_of(starts)
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
            size = each_once(cells, begin, end, column_width, held, run, seen)
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
