"""Workloads: queries as counts of low-dimensional tables, without arrays of the size of the grid.

A method that has tables of counts, exact or estimated, answers from them. Each count adds some cells of one table
up, each cell once, so it moves by no more than the table does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.bounds import (
    Bounded,
    ColumnPlaces,
    LinearQueries,
    concatenate_tables,
    exact_answers,
    group_sums,
    head,
)
from headcount.errors import UsageError
from headcount.events.grid import MOST_CELLS, Grid
from headcount.methods.queries.sql import Cell, TableCounts, cell_text, table_counts


@dataclass(frozen=True)
class Named:
    """What each answer is to: the statement, and the cell of its GROUP BY where it has one."""

    statements: tuple[str, ...]
    cells: tuple[Cell, ...]

    @classmethod
    def of_rows(cls, rows: LinearQueries) -> Named:
        """Name rows by their places."""
        return cls(tuple(f"row {place}" for place in range(1, rows.size + 1)), ((),) * rows.size)

    @cached_property
    def columns(self) -> Mapping[str, pa.Array]:
        """Return it as columns: the same for all releases that answer the same."""
        texts = [cell_text(cell) for cell in self.cells]
        return {"query": pa.array(self.statements, pa.string()), "cell": pa.array(texts, pa.string())}


class Workload(Protocol):
    """Queries that are answered from tables over some columns."""

    @property
    def tables(self) -> tuple[ColumnPlaces, ...]:
        """Return the columns of each table that is needed, each once."""

    @property
    def named(self) -> Named:
        """Return what each answer is to."""

    def answers(self, table: Callable[[ColumnPlaces], Floats]) -> Floats:
        """Answer from estimated tables."""

    def exact(self, tables: Mapping[ColumnPlaces, Bounded]) -> Bounded:
        """Answer from exact tables; each answer moves by no more than a table does in L1."""


@dataclass(frozen=True)
class StatementWorkload:
    """SQL statements.

    >>> grid = Grid.of({name: {"edges": [0, 1, 2]} for name in "abc"})
    >>> statements = "SELECT COUNT(*) FROM t WHERE c = 1", "SELECT COUNT(*) FROM t GROUP BY a"
    >>> workload = StatementWorkload.of(statements, grid)
    >>> workload.tables, workload.answers(lambda places: np.array([5.0, 3.0])).tolist()
    (((2,), (0,)), [3.0, 5.0, 3.0])
    """

    counts: tuple[TableCounts, ...]

    @classmethod
    def of(cls, statements: tuple[str, ...], grid: Grid) -> StatementWorkload:
        """Read statements; refuse what cannot be answered."""
        if not statements:
            raise no_queries_error()
        return cls(tuple(table_counts(statement, grid, MOST_CELLS) for statement in statements))

    @property
    def tables(self) -> tuple[ColumnPlaces, ...]:
        """Return the columns of each table that is needed, each once."""
        return tuple(dict.fromkeys(counts.places for counts in self.counts))

    @cached_property
    def named(self) -> Named:
        """Return what each answer is to."""
        statements = [counts.statement for counts in self.counts for _ in counts.cells]
        return Named(tuple(statements), tuple(cell for counts in self.counts for cell in counts.cells))

    def answers(self, table: Callable[[ColumnPlaces], Floats]) -> Floats:
        """Answer from estimated tables."""
        tables: dict[ColumnPlaces, Floats] = {places: table(places) for places in self.tables}
        parts = []
        for counts in self.counts:
            size = len(counts.cells)
            parts.append(np.bincount(counts.groups, tables[counts.places].ravel(), minlength=size + 1)[:size])
        return np.concatenate(parts)

    def exact(self, tables: Mapping[ColumnPlaces, Bounded]) -> Bounded:
        """Answer from exact tables."""
        return concatenate_tables([_counted(tables[counts.places], counts) for counts in self.counts])


@dataclass(frozen=True)
class RowWorkload:
    """Rows of zeros and ones over all cells, of which there must be few."""

    rows: LinearQueries
    grid: Grid

    @property
    def tables(self) -> tuple[ColumnPlaces, ...]:
        """Return all columns, as one table."""
        return (tuple(range(len(self.grid.bins))),)

    @property
    def named(self) -> Named:
        """Return what each answer is to."""
        return Named.of_rows(self.rows)

    def answers(self, table: Callable[[ColumnPlaces], Floats]) -> Floats:
        """Answer from an estimated table."""
        return self.rows.sums(table(self.tables[0]).ravel())

    def exact(self, tables: Mapping[ColumnPlaces, Bounded]) -> Bounded:
        """Answer from the exact table."""
        cells = tables[self.tables[0]]
        return exact_answers(head(cells, cells.size), self.rows)


def _counted(table: Bounded, counts: TableCounts) -> Bounded:
    """Add cells up to counts; those of no count are left out in the end."""
    size = len(counts.cells)
    flat = head(table, table.size)
    return head(group_sums(flat, counts.groups, size + 1), size)


def no_queries_error() -> UsageError:
    """Say that there is no query."""
    return UsageError("no query is asked", remedy="for example SELECT COUNT(*) FROM people WHERE age >= 18")
