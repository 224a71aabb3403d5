"""Compiled counts of distinct users per column in a hash table, for sparse columns.

The table is open-addressed and grows by doubling when it is three quarters full. A free slot has the column -1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Codes
from headcount._internal.compiled import Word, compiled, inlined
from headcount.bounds.kernels.grouping import UserRange
from headcount.bounds.kernels.histories import (
    Modes,
    keep_one_context,
    next_users,
    scratch_for,
    write_distinct_columns,
)
from headcount.events.encode.kernels import hash_cell


class UserCountTable(NamedTuple):
    """The columns in the slots, how many people are in each, and how many slots are taken."""

    columns: Codes
    people: Codes
    taken: Word


@compiled
def new_table(slots: Word) -> UserCountTable:
    """Return an empty table with so many slots, a power of two."""
    return UserCountTable(np.full(slots, -1, dtype=np.int32), np.zeros(slots, dtype=np.int32), np.int64(0))


@inlined
def _slot_of(column: Word, secret: Word, columns: Codes) -> Word:
    """Return the slot of a column, its own or a free one."""
    mask = np.int64(columns.size - 1)
    slot = np.int64(hash_cell(column, secret)) & mask
    while columns[slot] != column and columns[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


@compiled
def _grow(table: UserCountTable, secret: Word) -> UserCountTable:
    columns, user_counts, taken = table
    wider, counts, _ = new_table(2 * columns.size)
    for slot in range(columns.size):
        if columns[slot] >= 0:
            to = _slot_of(columns[slot], secret, wider)
            wider[to] = columns[slot]
            counts[to] = user_counts[slot]
    return UserCountTable(wider, counts, taken)


@compiled
def count_users(piece: UserRange, modes: Modes, column_width: Word, table: UserCountTable) -> UserCountTable:
    """Count every user once in each column, ``column_width`` cells wide, that they have a record in."""
    columns, user_counts, taken = table
    room, run = scratch_for(0, 0), np.int64(0)
    reached = piece.first
    while reached < piece.last:
        reached, users, room = next_users(piece, 0, reached, room)
        starts, cells, weights, keys = users
        slots, _, _, held = room
        for user in range(keys.size):
            begin, end = starts[user], starts[user + 1]
            if modes.one_context and begin < end:
                end = keep_one_context(cells, weights, begin, end, modes.width, keys[user])
            if begin == end:
                continue
            run += 1
            size = write_distinct_columns(cells, begin, end, column_width, modes.secret, held, run, slots)
            for at in range(size):
                slot = _slot_of(held[at], modes.secret, columns)
                if columns[slot] < 0:
                    columns[slot] = held[at]
                    taken += 1
                user_counts[slot] += 1
                if 4 * taken > 3 * columns.size:
                    columns, user_counts, taken = _grow(UserCountTable(columns, user_counts, taken), modes.secret)
    return UserCountTable(columns, user_counts, taken)
