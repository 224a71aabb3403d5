"""Compiled loops that weigh all records of each user, so that they add up to a limit, and count them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headcount.arrays import Codes, Flags, Integers
from headcount.compiling import Word, compiled, inlined
from headcount.engines.kernels.grouping import Histories, Piece, next_histories
from headcount.engines.kernels.histories import (
    MOST_SQUARES,
    Modes,
    Scratch,
    add_rows,
    each_once,
    keep_among,
    keep_one_context,
    new_scratch,
    records_in,
    squares_in,
    with_room,
)
from headcount.engines.kernels.keeping import Counts

_PLENTY = 1 << 62
"""More than a limit, a factor and a unit multiply to: with so much to share among, a record weighs nothing."""


class Weighing(NamedTuple):
    """What weighing asks for: every user's records add up to at most ``limit`` units.

    If ``measured`` is the width of a table's columns in cells (1 for edges) instead of 0, the users are counted by
    the number of their records in that table: into ``edges``, whose last place is for that many or more.
    With ``squares`` it is the sum of squares that is limited, of numbers of records of each item where records are
    counted, and users are counted by that; with ``apart`` users above the limit are counted in the second half of
    the tables; ``factors`` say how their records lean, if there are any. If ``among`` has an entry for each item,
    records about items without a mark are left out first.
    """

    limit: int
    unit: int
    measured: int
    squares: bool
    apart: bool
    factors: Integers
    among: Flags


@inlined
def _weight(size: Word, limit: Word, unit: Word, squares: Word) -> Word:
    """Return what each of ``size`` records weighs where all weigh alike."""
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
    table: Integers, columns: Codes, size: Word, times: Integers, weighing: Weighing, width: Word
) -> None:  # fmt: skip
    """Count ``size`` records of a user above the limit, each with the weight that the factor of its item gives.

    Each counts as often as ``times`` says, or once where these are empty.
    """
    if times.size == 0:
        times = np.ones(size, dtype=np.int64)
    shares = np.empty(size, dtype=np.int64)
    for at in range(size):
        shares[at] = weighing.factors[columns[at] // width]
    left, others = _fill(weighing.limit, shares, times, size)
    for at in range(size):
        weight = weighing.unit if shares[at] == 0 else weighing.unit * left * shares[at] // others
        table[columns[at]] += weight * times[at]


@compiled
def _weigh_users(
    histories: Histories, weighing: Weighing, modes: Modes, counts: Counts, scratch: Scratch
) -> Scratch:
    scratch = with_room(scratch, histories, np.int64(0))
    starts, cells, weights, keys = histories
    width = modes.width
    limit, unit, measured, squares, apart, factors, among = weighing
    edges, items = counts
    seen, numbers, heap, held, run = scratch
    edges_above, items_above = edges, items
    if apart:
        edges_above, items_above = edges[edges.size // 2 :], items[items.size // 2 :]
    for user in range(keys.size):
        begin, end = starts[user], starts[user + 1]
        if modes.one_context and begin < end:
            end = keep_one_context(histories, begin, end, modes.width, keys[user])
        if among.size > 0:
            end = keep_among(histories, begin, end, modes.width, among)
        if begin == end:
            continue
        if not modes.distinct:
            if squares:
                run += 1
                total = squares_in(cells, weights, begin, end, width, run, seen, numbers)
            else:
                total = records_in(weights, begin, end)
            if measured > 0:
                edges[min(total, edges.size) - 1] += 1
                continue
            table = edges if total <= limit else edges_above
            if factors.size > 0 and total > limit:
                _lean(table, cells[begin:end], end - begin, weights[begin:end], weighing, width)
                continue
            add_rows(table, cells, weights, begin, end, _weight(total, limit, unit, squares))
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
                    _lean(into, held, size, weights[:0], weighing, width // each)
                    continue
                weight = _weight(size, limit, unit, squares)
                for at in range(size):
                    into[held[at]] += weight
            if width == 1:
                break
    return Scratch(seen, numbers, heap, held, run)


@compiled
def weigh(piece: Piece, modes: Modes, weighing: Weighing, counts: Counts) -> None:
    """Weigh every user's records, and count them: see :class:`Weighing`."""
    scratch, at = new_scratch(), piece.first
    while at < piece.last:
        at, histories = next_histories(piece.held, piece.packed, piece.keys, at, piece.last)
        scratch = _weigh_users(histories, weighing, modes, counts, scratch)
