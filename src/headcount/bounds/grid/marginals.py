"""Several tables over few columns each, counted of the same bounded records: for grids too wide to count whole.

What is kept of each person and group is what :class:`~headcount.bounds.grid.group_cells.Cells` keeps: it is drawn
by the cell of the whole grid that a record is in, which is a number and never an array. A table then says how
many of the kept records are in each cell of its columns.

Why that bounds a group
    A group moves the cells of the whole grid by at most its reach r in L1, as is said there. A table adds some of
    these cells up, each once, and so moves by at most r in L1, hence in L2 and in any one entry. Nothing else is
    said of several tables together; what they move side by side is worked out where they are put
    (:func:`~headcount.bounds.linear_maps.beside`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.grid.group_cells import Cells
from headcount.errors import UsageError
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog

Places = tuple[int, ...]
"""Columns of a grid, by their places, in rising order."""

MOST_TABLE_CELLS = 10_000_000
"""How many cells the tables of one bound may have in all."""


@dataclass(frozen=True)
class BoundedTables:
    """Several bounded tables, each with the sensitivity of one: all of them may be moved by one person."""

    tables: tuple[Bounded, ...]

    def with_others(self, other: BoundedTables) -> BoundedTables:
        """Add what was counted of other people: see :meth:`Bounded.with_others`."""
        if len(self.tables) != len(other.tables):
            raise ValueError("these tables are not of the same bound")
        both = zip(self.tables, other.tables, strict=True)
        return BoundedTables(tuple(one.with_others(another) for one, another in both))


@dataclass(frozen=True)
class Marginals(Bound[BoundedTables]):
    """Tables over some columns of a grid, of the records that ``of`` keeps of each person and group.

    >>> from headcount.events.grid import Grid
    >>> grid = Grid.of({name: {"from": 0, "to": 10, "bins": 10} for name in "abcdefghijkl"})
    >>> bound = Marginals(Cells(grid, records=3), ((0,), (2, 5)))
    >>> bound.shapes, bound.of.reach
    (((10,), (10, 10)), 3)
    """

    of: Cells
    tables: tuple[Places, ...]

    def __post_init__(self) -> None:
        columns = len(self.of.grid.bins)
        for each in self.tables:
            if list(each) != sorted(set(each)) or not all(0 <= place < columns for place in each):
                raise ValueError(f"a table is over some of {columns} columns, in their order, not over {each}")
        cells = sum(map(prod, self.shapes))
        if cells > MOST_TABLE_CELLS:
            raise UsageError(
                f"these tables have {cells:,} cells in all, more than {MOST_TABLE_CELLS:,}",
                remedy="ask for fewer columns at a time, or use coarser bins",
            )

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """How many bins each column of each table has."""
        return tuple(tuple(self.of.grid.shape[place] for place in each) for each in self.tables)

    def reading(self, log: EventLog) -> Reading:
        """The columns of the whole grid: which records are kept does not hang on what is counted of them."""
        return self.of.reading(log)


def certify_marginals(bound: Marginals, counts: Sequence[Integers]) -> BoundedTables:
    """Turn an engine's counts per table into bounded values for noise; all of a group may be in one cell."""
    reach = Sensitivity.of_l1(bound.of.reach)
    if [each.shape for each in counts] != list(bound.shapes):
        raise ValueError(f"the tables of this bound have the shapes {bound.shapes}")
    return BoundedTables(tuple(Bounded(each, reach, SEAL) for each in counts))
