"""Compiled co-occurrence counts of the items of each user's sampled records."""

from __future__ import annotations

from typing import NamedTuple

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import Word, compiled
from headcount.bounds.counts.kernels.sample import SampleScratch, SampleSettings, sample_user
from headcount.bounds.kernels.grouping import UserRange, next_histories
from headcount.bounds.kernels.histories import (
    Modes,
    keep_one_context,
    missing_scratch,
    records_in,
    scratch_for,
    write_distinct_columns,
)


class PairSums(NamedTuple):
    """Where a thread counts the pairs of items."""

    pairs: Integers


@compiled
def count_item_pairs(
    piece: UserRange, modes: Modes, keeping: SampleSettings, spare: SampleScratch, places: Codes, many: Word,
    paired: PairSums,
) -> None:  # fmt: skip
    """Keep what is allowed of every user's records, and count each two items that they are about.

    ``places`` has the place of each item among ``many`` ones, -1 for others.
    """
    sums = paired.pairs
    slots, numbers, heap, held, run = scratch_for(0, 0)
    reached = piece.first
    while reached < piece.last:
        reached, histories = next_histories(piece.held, piece.packed, piece.keys, reached, piece.last)
        starts, cells, weights, keys = histories
        rows, records = missing_scratch(starts, weights, keeping.limit, slots.size, heap.size)
        if rows > 0:
            slots, numbers, heap, held, run = scratch_for(rows, records)
        for user in range(keys.size):
            begin, end = starts[user], starts[user + 1]
            if modes.one_context and begin < end:
                end = keep_one_context(cells, weights, begin, end, modes.width, keys[user])
            if begin == end:
                continue
            total = records_in(weights, begin, end)
            size, run = sample_user(
                cells[begin:end], weights[begin:end], total, keys[user], keeping, modes, spare, slots, numbers,
                run,
                heap, held,
            )  # fmt: skip
            run += 1
            different = write_distinct_columns(held, 0, size, modes.width, modes.secret, held, run, slots)
            size = 0
            for at in range(different):
                place = places[held[at]]
                if place >= 0:
                    held[size] = place
                    size += 1
            mine = held[:size]
            mine.sort()
            for first in range(size):
                row = mine[first] * many - mine[first] * (mine[first] + 1) // 2 - mine[first] - 1
                for second in range(first + 1, size):
                    sums[row + mine[second]] += 1
