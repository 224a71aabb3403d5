"""Compiled loops that collect the columns of every user's records, sorted by how many there are."""

from __future__ import annotations

from typing import NamedTuple

from headcount.arrays import Codes, Integers
from headcount.compiling import Word, compiled
from headcount.engines.kernels.grouping import Histories, Piece, next_histories
from headcount.engines.kernels.histories import (
    Modes,
    Scratch,
    each_once,
    keep_one_context,
    new_scratch,
    records_in,
    with_room,
)
from headcount.engines.kernels.keeping import Keeping, Spare, sample, spare_for


class Gathered(NamedTuple):
    """Columns, ``width`` cells each, and for each number of records where the next user's go."""

    width: int
    ahead: Integers
    columns: Codes


@compiled
def _gather_users(
    histories: Histories, keeping: Keeping, modes: Modes, gathered: Gathered, spare: Spare, scratch: Scratch
) -> Scratch:
    scratch = with_room(scratch, histories, keeping.limit)
    starts, cells, weights, keys = histories
    column_width, ahead, columns = gathered
    seen, numbers, heap, held, run = scratch
    for user in range(keys.size):
        begin, end = starts[user], starts[user + 1]
        if modes.one_context and begin < end:
            end = keep_one_context(histories, begin, end, modes.width, keys[user])
        if begin == end:
            continue
        total = records_in(weights, begin, end)
        if modes.distinct:
            run += 1
            size = each_once(cells, begin, end, column_width, held, run, seen)
        elif total <= keeping.limit:
            to = ahead[total]
            for at in range(begin, end):
                for _ in range(weights[at] if weights.size > 0 else 1):
                    columns[to] = cells[at] // column_width
                    to += 1
            ahead[total] = to
            continue
        else:
            size, run = sample(histories, begin, end, total, keys[user], keeping, modes, spare, scratch, run)
            for at in range(size):
                held[at] = held[at] // column_width
        to = ahead[size]
        for at in range(size):
            columns[to + at] = held[at]
        ahead[size] = to + size
    return Scratch(seen, numbers, heap, held, run)


@compiled
def gather(piece: Piece, modes: Modes, keeping: Keeping, cells: Word, gathered: Gathered) -> None:
    """Write the columns of every user's records, at most ``keeping.limit`` random ones, where ``ahead`` says.

    There are so many ``cells`` in all.
    """
    spare = spare_for(piece.held, cells)
    scratch, at = new_scratch(), piece.first
    while at < piece.last:
        at, histories = next_histories(piece.held, piece.packed, piece.keys, at, piece.last)
        scratch = _gather_users(histories, keeping, modes, gathered, spare, scratch)
