"""Local measurement of sparse user counts: one hash table per thread, merged at the end.

Each thread has a table of its own, which grows; at the end they are put together in the order of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headcount._internal.arrays import Codes
from headcount.bounds.counts.kernels import sparse_user_counts
from headcount.bounds.counts.sparse_user_counts import merge_columns
from headcount.bounds.kernels.grouping import UserRange
from headcount.bounds.kernels.histories import Modes

_FIRST_SLOTS = 1 << 10


class UserTable:
    """A hash table from columns to numbers of people, kept between the pieces that a thread goes through."""

    def __init__(self) -> None:
        self.held: sparse_user_counts.UserCountTable = sparse_user_counts.new_table(_FIRST_SLOTS)

    def take_all(self) -> tuple[Codes, Codes]:
        """Return the columns and their people, in no order, and let go of the table."""
        columns, counts, _ = self.held
        self.held = sparse_user_counts.new_table(_FIRST_SLOTS)
        there = columns >= 0
        return columns[there], counts[there]


def count_users(piece: UserRange, modes: Modes, column_width: int, table: UserTable) -> None:
    """Count every user of a piece once in each column that they have a record in."""
    table.held = sparse_user_counts.count_users(piece, modes, column_width, table.held)


def merge_tables(tables: Sequence[UserTable]) -> tuple[Codes, Codes]:
    """Return the columns of all tables, rising, and how many people are in each; the tables are empty then."""
    parts = [table.take_all() for table in tables]
    columns = np.concatenate([columns for columns, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    del parts
    return merge_columns(columns, counts)
