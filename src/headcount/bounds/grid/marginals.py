"""Marginal tables over few columns of a grid, all counted from the same bounded records.

What is kept of each user and group is what :class:`~headcount.bounds.grid.user_group_cells.GroupCells` keeps: it
is drawn by the cell of the whole grid that a record is in, which is a number and never an array. A table then says
how many of the kept records are in each cell of its columns.

Why that bounds a group
    A group moves the cells of the whole grid by at most its reach r in L1, as is said there. A table adds some of
    these cells up, each once, and so moves by at most r in L1, hence in L2 and in any one entry. Nothing else is
    said of several tables together; what they move side by side is worked out where they are put
    (:func:`~headcount.bounds.linear_maps.concatenate_tables`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound
from headcount.bounds.bounded import SEAL, Bounded, BoundedGroup, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.errors import UsageError
from headcount.events.encode.passes import Reading
from headcount.events.grid import Grid
from headcount.events.log import EventLog

ColumnPlaces = tuple[int, ...]
"""Columns of a grid, by their places, in rising order."""

MAX_TABLE_CELLS = 10_000_000
"""How many cells the tables of one bound may have in all."""


@dataclass(frozen=True)
class BoundedTables(BoundedGroup):
    """Several bounded tables, each with the sensitivity of one: all of them may be moved by one user."""

    tables: tuple[Bounded, ...]

    @property
    def parts(self) -> tuple[Bounded, ...]:
        """All tables."""
        return self.tables

    def with_parts(self, parts: tuple[Bounded, ...]) -> BoundedTables:
        """Return the same tables with other values."""
        return BoundedTables(parts)


@dataclass(frozen=True)
class Marginals(Bound[BoundedTables]):
    """Tables over some columns of a grid, of the records that ``group_cells`` keeps of each user and group.

    >>> from headcount.events.grid import Grid
    >>> grid = Grid.from_mapping({name: {"from": 0, "to": 10, "bins": 10} for name in "abcdefghijkl"})
    >>> bound = Marginals(GroupCells(grid, records=3), ((0,), (2, 5)))
    >>> bound.shapes, bound.group_cells.max_records_of_group
    (((10,), (10, 10)), 3)
    """

    group_cells: GroupCells
    tables: tuple[ColumnPlaces, ...]

    def __post_init__(self) -> None:
        columns = len(self.group_cells.grid.bins)
        for columns_of_table in self.tables:
            if list(columns_of_table) != sorted(set(columns_of_table)) or not all(
                0 <= place < columns for place in columns_of_table
            ):
                raise ValueError(
                    f"a table is over some of {columns} columns, in their order, not over {columns_of_table}"
                )
        cells = sum(map(prod, self.shapes))
        if cells > MAX_TABLE_CELLS:
            raise UsageError(
                f"these tables have {cells:,} cells in all, more than {MAX_TABLE_CELLS:,}",
                remedy="ask for fewer columns at a time, or use coarser bins",
            )

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """How many bins each column of each table has."""
        return tuple(
            tuple(self.group_cells.grid.shape[place] for place in columns_of_table)
            for columns_of_table in self.tables
        )

    def reading(self, log: EventLog) -> Reading:
        """The columns of the whole grid: which records are kept does not depend on what is counted of them."""
        return self.group_cells.reading(log)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> BoundedTables:
        """Keep what the bound allows of each user and of each group, and count it per table."""
        bins = to_bins(self.group_cells.grid, self.group_cells.kept_cells(passes, log, secret))
        tables = []
        for columns, shape in zip(self.tables, self.shapes, strict=True):
            at = np.zeros(bins[0].size, dtype=np.int64)
            for place, size in zip(columns, shape, strict=True):
                at = at * size + bins[place]
            tables.append(np.bincount(at, minlength=prod(shape)).astype(np.int64).reshape(shape))
            passes.progress("counting tables", len(tables), len(self.tables))
        return self.seal(tables)

    def seal(self, counts: Sequence[Integers]) -> BoundedTables:
        """Turn counts per table into bounded values for noise; all of a group may be in one cell."""
        sensitivity = Sensitivity.of_l1(self.group_cells.max_records_of_group)
        if [table.shape for table in counts] != list(self.shapes):
            raise ValueError(f"the tables of this bound have the shapes {self.shapes}")
        return BoundedTables(tuple(Bounded(table, sensitivity, SEAL) for table in counts))


def to_bins(grid: Grid, cells: Integers) -> list[Integers]:
    """Return the bin of each column that cells are in, the last column running quickest.

    >>> to_bins(Grid.from_mapping({"a": {"edges": [0, 1, 2]}, "b": {"edges": [0, 1, 2, 3]}}), np.array([5, 1]))
    [array([1, 0]), array([2, 1])]
    """
    bins = []
    for size in reversed(grid.shape):
        cells, bin_of_column = np.divmod(cells, size)
        bins.append(bin_of_column)
    return bins[::-1]
