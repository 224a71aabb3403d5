"""Compiled loops that keep a few records of each user, and count which two items they are about."""

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


class Paired(NamedTuple):
    """Where a thread counts: the place of each item, -1 for none, how many places there are, and their pairs."""

    places: Codes
    size: int
    sums: Integers


@compiled
def _pair_users(
    histories: Histories, keeping: Keeping, modes: Modes, paired: Paired, spare: Spare, scratch: Scratch
) -> Scratch:
    scratch = with_room(scratch, histories, keeping.limit)
    starts, weights, keys = histories.starts, histories.weights, histories.keys
    places, many, sums = paired
    seen, numbers, heap, held, run = scratch
    for user in range(keys.size):
        begin, end = starts[user], starts[user + 1]
        if modes.one_context and begin < end:
            end = keep_one_context(histories, begin, end, modes.width, keys[user])
        if begin == end:
            continue
        total = records_in(weights, begin, end)
        size, run = sample(histories, begin, end, total, keys[user], keeping, modes, spare, scratch, run)
        run += 1
        different = each_once(held, 0, size, modes.width, held, run, seen)
        size = 0
        for at in range(different):
            place = places[held[at]]
            if place >= 0:
                held[size] = place
                size += 1
        mine = held[:size]
        mine.sort()
        for one in range(size):
            row = mine[one] * many - mine[one] * (mine[one] + 1) // 2 - mine[one] - 1
            for other in range(one + 1, size):
                sums[row + mine[other]] += 1
    return Scratch(seen, numbers, heap, held, run)


@compiled
def pair(piece: Piece, modes: Modes, keeping: Keeping, cells: Word, paired: Paired) -> None:
    """Keep what is allowed of every user's records, and count each two items that they are about.

    There are so many ``cells`` in all.
    """
    spare = spare_for(piece.held, cells)
    scratch, at = new_scratch(), piece.first
    while at < piece.last:
        at, histories = next_histories(piece.held, piece.packed, piece.keys, at, piece.last)
        scratch = _pair_users(histories, keeping, modes, paired, spare, scratch)
