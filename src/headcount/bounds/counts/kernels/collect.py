"""Compiled loops that collect the columns of each user's records, sorted by the number of records."""

from __future__ import annotations

from typing import NamedTuple

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import compiled
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


class CollectedColumns(NamedTuple):
    """Columns, ``width`` cells each, and for each number of records where the next user's go."""

    width: int
    ahead: Integers
    columns: Codes


@compiled
def collect_columns(
    piece: UserRange, modes: Modes, keeping: SampleSettings, spare: SampleScratch, gathered: CollectedColumns
) -> None:
    """Write the columns of every user's records, at most ``keeping.limit`` random ones, where ``ahead`` says."""
    column_width, ahead, columns = gathered
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
            if modes.distinct:
                run += 1
                size = write_distinct_columns(cells, begin, end, column_width, modes.secret, held, run, slots)
            elif total <= keeping.limit:
                to = ahead[total]
                for at in range(begin, end):
                    for _ in range(weights[at] if weights.size > 0 else 1):
                        columns[to] = cells[at] // column_width
                        to += 1
                ahead[total] = to
                continue
            else:
                size, run = sample_user(
                    cells[begin:end], weights[begin:end], total, keys[user], keeping, modes, spare, slots, numbers,
                    run, heap, held,
                )  # fmt: skip
                for at in range(size):
                    held[at] = held[at] // column_width
            to = ahead[size]
            for at in range(size):
                columns[to + at] = held[at]
            ahead[size] = to + size
