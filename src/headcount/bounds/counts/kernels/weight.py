"""Compiled weighting: each user's records scaled down to a clipping threshold, and counted."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Codes, Flags, Integers
from headcount._internal.compiled import Word, compiled, inlined
from headcount.bounds.counts.kernels.sample import CountTables
from headcount.bounds.kernels import scratch
from headcount.bounds.kernels.grouping import (
    HeldRecords,
    UserRange,
    add_ungrouped,
    next_marked,
    next_sizes,
)
from headcount.bounds.kernels.histories import (
    MOST_SQUARES,
    Modes,
    add_rows,
    keep_item_subset,
    keep_one_context,
    next_users,
    records_in,
    scratch_for,
    squares_in,
    write_distinct_columns,
)

_CELLS = np.empty(0, dtype=np.uint8)  # columns of a table of cells: each is its own


class WeightSettings(NamedTuple):
    """What weighing asks for: every user's records add up to at most ``limit`` units.

    If ``measured`` is the width of a table's columns in cells (1 for edges) instead of 0, the users are counted by
    the number of their records in that table, or ``limit`` if that is less: into a place of ``edges`` for each
    number, or for each of ``ends`` and all beyond.
    With ``squares`` it is the sum of squares that is limited, of numbers of records of each item where records are
    counted, and users are counted by that; with ``apart`` users above the limit are counted in the second half of
    the tables. If ``among`` has an entry for each item, records about items without a mark are left out first.
    """

    limit: int
    unit: int
    measured: int
    squares: bool
    apart: bool
    among: Flags
    ends: Integers


@inlined
def place_of(size: Word, limit: Word, ends: Integers) -> Word:
    """Return where a user with ``size`` records is counted."""
    most = min(size, limit)
    if ends.size == 0:
        return most - 1
    place = np.int64(0)
    while place < ends.size and ends[place] < most:
        place += 1
    return place


@inlined
def weight_of(size: Word, limit: Word, unit: Word, squares: Word) -> Word:
    """Return what each of ``size`` records weighs."""
    if size <= limit:
        return unit
    if not squares:
        return unit * limit // size
    if size == MOST_SQUARES:  # or more: so many that a record weighs nothing
        return np.int64(0)
    squared = unit * unit * limit // size
    root = np.int64(math.sqrt(squared))
    while root * root > squared:
        root -= 1
    while (root + 1) * (root + 1) <= squared:
        root += 1
    return root


@compiled
def _subset_columns(among: Flags, width: Word) -> Codes:
    """Return the place of each cell among those of marked items, from 1 on, and 0 for all others."""
    columns, place = scratch.codes(among.size * width), 0
    for cell in range(columns.size):
        columns[cell] = 0
        if among[cell // width]:
            place += 1
            columns[cell] = place
    return columns


@compiled
def _count_ungrouped(
    held: HeldRecords | None,
    users: Word,
    at: Word,
    last: Word,
    modes: Modes,
    weighing: WeightSettings,
    edges: Integers,
) -> Word:
    """Weigh or measure users by how many rows they have, if nothing else counts; return where to go on."""
    if held is not None:  # Numba leaves out what is asked of None
        alike = not (modes.distinct or modes.one_context or weighing.squares)
        if not alike or held.weights.size > 0 or at >= last:
            return at
        columns = _subset_columns(weighing.among, modes.width)
        chosen = columns.size > 0
        table, half = edges, edges.size // 2
        if chosen:  # marked cells lie together, after a place for all others
            half = columns.size + 1
            table = scratch.zeros(2 * half)
        while at < last:
            first = at
            at, sizes = (
                next_marked(held, users, first, last, columns) if chosen else next_sizes(held, users, first, last)
            )
            if weighing.measured > 0:
                for size in sizes:
                    if size > 0:
                        edges[place_of(size, weighing.limit, weighing.ends)] += 1
                continue
            rows, user_weights = scratch.integers(sizes.size), scratch.integers(sizes.size)
            for user in range(sizes.size):
                rows[user] = half if weighing.apart and sizes[user] > weighing.limit else 0
                user_weights[user] = weight_of(sizes[user], weighing.limit, weighing.unit, weighing.squares)
            if chosen:
                add_ungrouped(held, first, at, rows, user_weights, columns, table)
            else:
                add_ungrouped(held, first, at, rows, user_weights, _CELLS, edges)
        if chosen and weighing.measured == 0:
            for cell in range(columns.size):
                if columns[cell] > 0:
                    edges[cell] += table[columns[cell]]
                    if weighing.apart:
                        edges[edges.size // 2 + cell] += table[half + columns[cell]]
    return at


@compiled
def count_weighted(piece: UserRange, modes: Modes, weighing: WeightSettings, counts: CountTables) -> None:
    """Weigh every user's records, and count them: see :class:`WeightSettings`."""
    limit, unit, measured, squares, apart, among, ends = weighing
    edges, items = counts
    edges_above, items_above = edges, items
    if apart:
        edges_above, items_above = edges[edges.size // 2 :], items[items.size // 2 :]
    width = modes.width
    room, run = scratch_for(0, 0), np.int64(0)
    reached = _count_ungrouped(piece.held, piece.keys.size, piece.first, piece.last, modes, weighing, edges)
    while reached < piece.last:
        reached, users, room = next_users(piece, 0, reached, room)
        starts, cells, weights, keys = users
        slots, numbers, _, held = room
        for user in range(keys.size):
            begin, end = starts[user], starts[user + 1]
            if modes.one_context and begin < end:
                end = keep_one_context(cells, weights, begin, end, modes.width, keys[user])
            if among.size > 0:
                end = keep_item_subset(cells, weights, begin, end, modes.width, among)
            if begin == end:
                continue
            if not modes.distinct:
                if squares:
                    run += 1
                    total = squares_in(cells, weights, begin, end, width, modes.secret, run, slots, numbers)
                else:
                    total = records_in(weights, begin, end)
                if measured > 0:
                    edges[place_of(total, limit, ends)] += 1
                    continue
                table = edges if total <= limit else edges_above
                add_rows(table, cells, weights, begin, end, weight_of(total, limit, unit, squares))
                continue
            for column_width in (np.int64(1), np.int64(width)):
                if measured > 0 and measured != column_width:
                    continue
                run += 1
                size = write_distinct_columns(cells, begin, end, column_width, modes.secret, held, run, slots)
                if measured > 0:
                    edges[place_of(size, limit, ends)] += 1
                    break
                table, beside = edges if size <= limit else edges_above, items if size <= limit else items_above
                if column_width > 1 or width == 1:
                    table, beside = beside, table
                # one column a cell: both tables are the same
                for second in range(2 if width == 1 else 1):
                    into = beside if second else table
                    weight = weight_of(size, limit, unit, squares)
                    for at in range(size):
                        into[held[at]] += weight
                if width == 1:
                    break
