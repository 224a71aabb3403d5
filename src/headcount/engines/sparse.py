"""People behind each column that somebody is in, counted in hash tables: memory follows what is there.

Each thread has a table of its own, which grows; at the end they are put together in the order of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.bounding.people import summed
from headcount.engines.kernels import people as kernels

Codes = NDArray[np.int32]

_FIRST_SLOTS = 1 << 10


class PeopleTable:
    """A hash table from columns to numbers of people, kept between the pieces that a thread goes through."""

    def __init__(self) -> None:
        self.held: kernels.Table = kernels.new_table(_FIRST_SLOTS)

    def taken_out(self) -> tuple[Codes, Codes]:
        """Return the columns and their people, in no order, and let go of the table."""
        columns, people, _ = self.held
        self.held = kernels.new_table(_FIRST_SLOTS)
        there = columns >= 0
        return columns[there], people[there]


def _into_the_table(kernel: Callable[..., kernels.Table]) -> Callable[..., None]:
    """Let a kernel count into a :class:`PeopleTable`, its last argument, which may grow."""

    def count(*piece_and_table: Any) -> None:
        *piece, table = piece_and_table
        table.held = kernel(*piece, table.held)

    return count


count_blocks = _into_the_table(kernels.count_blocks)
count_packed = _into_the_table(kernels.count_packed)


def merged(tables: Sequence[PeopleTable]) -> tuple[Codes, Codes]:
    """Return the columns of all tables, rising, and how many people are in each; the tables are empty then."""
    parts = [each.taken_out() for each in tables]
    columns = np.concatenate([columns for columns, _ in parts])
    people = np.concatenate([people for _, people in parts])
    del parts
    return summed(columns, people)
