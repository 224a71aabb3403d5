"""Workloads: the queries of a release, their grid and the contribution bound. All of it is public.

:class:`TableQueries` holds what a request asks for. Methods that count all cells use its ``queries``, one row of
zeros and ones over the grid for each query. Methods that never look at all cells use its ``workload``: queries as
counts of tables over few columns. Each count adds up some cells of one table, each cell once, so it moves by no
more than the table does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.accounting.budget import CostOrGrant
from headcount.accounting.guarantee import GROUP_UNIT, Guarantee
from headcount.bounds import Bounded, LinearQueries, Sensitivity
from headcount.bounds.grid.linear_queries import exact_answers
from headcount.bounds.grid.marginals import ColumnPlaces
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.linear_maps import concatenate_tables, group_sums, head
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.encode.cells import check_table
from headcount.events.grid import MOST_CELLS, Grid
from headcount.events.log import EventLog
from headcount.events.sources.source import RowAsUserSource
from headcount.methods.method import ONE_ID
from headcount.methods.queries.components import Energies, energies
from headcount.methods.queries.sql import Cell, TableCounts, cell_text, counts_of, table_counts
from headcount.releases.formatting import some

PUBLIC_GRID = "the bins, the queries and all limits are public, fixed without looking at the table"
PUBLIC_GROUPS = "who belongs to which group is public"


@dataclass(frozen=True)
class QueryNames:
    """The name of each answer: the statement, and the cell of its GROUP BY, if any."""

    statements: tuple[str, ...]
    cells: tuple[Cell, ...]

    @classmethod
    def for_rows(cls, rows: LinearQueries) -> QueryNames:
        """Name rows by their places."""
        return cls(tuple(f"row {place}" for place in range(1, rows.size + 1)), ((),) * rows.size)

    @cached_property
    def columns(self) -> Mapping[str, pa.Array]:
        """The names as columns: the same for all releases with the same queries."""
        texts = [cell_text(cell) for cell in self.cells]
        return {"query": pa.array(self.statements, pa.string()), "cell": pa.array(texts, pa.string())}


@dataclass(frozen=True, kw_only=True)
class TableQueries:
    """Queries over a grid, as SQL ``statements`` or as ``rows`` of zeros and ones; ``groups`` names a column.

    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age >= 18",))
    >>> table_queries.queries.sizes.tolist(), table_queries.bound.max_records_of_group
    ([2], 1)
    """

    grid: Grid
    statements: tuple[str, ...] = ()
    rows: LinearQueries | None = field(default=None, compare=False)
    groups: str | None = None
    max_group: int | None = None
    max_records: int = 1

    def __post_init__(self) -> None:
        if (self.groups is None) != (self.max_group is None):
            raise UsageError(
                f"{param.groups} and {param.max_group} go together: the column that says who belongs together, "
                "and the most people of a group that count",
                remedy=f"for example {param.groups('household')} {param.max_group(6)}",
            )
        if self.max_group is not None and self.max_group < 2:
            raise UsageError(
                "max_group must be 2 or more",
                given=self.max_group,
                remedy=f"leave {param.groups} and {param.max_group} out to protect each person alone",
            )
        if self.rows is not None and self.rows.cells != self.grid.cells:
            raise UsageError(
                f"the queries are over {self.rows.cells:,} cells, but the bins make {self.grid.cells:,}",
                remedy="give one column a cell, the last column of the bins running quickest",
            )

    @property
    def bound(self) -> GroupCells:
        """The contribution bound of one user or group."""
        return GroupCells(self.grid, self.groups, self.max_records, self.max_group or 1)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one user or group moves the cells, and any count of them."""
        return Sensitivity.of_l1(self.bound.max_records_of_group)

    @property
    def bound_text(self) -> str:
        """The contribution bound in words."""
        words = f"at most {some(self.max_records, 'record')} per person"
        return words if self.groups is None else f"{words} and {self.max_group:,} people per {self.groups}"

    @property
    def has_queries(self) -> bool:
        """Whether the queries are known: in a session they are not."""
        return bool(self.statements) or self.rows is not None

    @cached_property
    def workload(self) -> Workload:
        """The queries as counts of tables over few columns."""
        if self.rows is not None:
            return RowWorkload(self.rows, self.grid)
        if not self.statements:
            raise _no_queries_error()
        return StatementWorkload.parse(self.statements, self.grid)

    @cached_property
    def _rows_and_names(self) -> tuple[LinearQueries, QueryNames]:
        if self.rows is not None:
            return self.rows, QueryNames.for_rows(self.rows)
        if not self.statements:
            raise _no_queries_error()
        self.grid.check_narrow()
        names: list[tuple[str, Cell]] = []

        def masks() -> Iterator[NDArray[np.bool_]]:
            for statement in self.statements:
                for query in counts_of(statement, self.grid):
                    names.append((query.statement, query.cell))
                    yield query.mask

        rows = LinearQueries.from_masks(masks(), self.grid.cells)
        return rows, QueryNames(tuple(statement for statement, _ in names), tuple(cell for _, cell in names))

    @property
    def queries(self) -> LinearQueries:
        """The rows of all queries."""
        return self._rows_and_names[0]

    @property
    def names(self) -> QueryNames:
        """The names of all queries."""
        return self._rows_and_names[1]

    @cached_property
    def energies(self) -> Energies | None:
        """The energy of the queries in columns alone, in pairs and so on; None if these are too many."""
        return energies(self.queries, self.grid.shape)

    def check(self, log: EventLog) -> None:
        """Refuse a log that does not fit, and queries that cannot be answered, before any record is read."""
        self.check_table(log)
        _ = self.queries

    def check_table(self, log: EventLog) -> None:
        """Refuse a log that does not fit, whatever the queries."""
        self.grid.check_narrow()
        check_table(log, self.grid, self.groups)
        if self.max_records > 1 and isinstance(log.source, RowAsUserSource):
            raise UsageError(
                f"{param.max_records(self.max_records)} is given without {param.user}, so that every row is one "
                "person",
                remedy="leave it out, or name the column that says who",
            )

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """ε, and δ if there is one, for adding or removing a user, or a whole group."""
        assumptions = (PUBLIC_GRID, ONE_ID)
        guarantee = Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumptions)
        if self.groups is None:
            return guarantee
        return replace(
            guarantee,
            unit=GROUP_UNIT,
            group=self.groups,
            members=self.max_group,
            assumes=(*assumptions, PUBLIC_GROUPS),
        )

    def count(self, log: EventLog, engine: Engine, secret: bytes) -> Bounded:
        """Count the cells of the grid, bounded."""
        return engine.measure(log, self.bound, secret)


class Workload(Protocol):
    """Queries that are answered from tables over some columns."""

    @property
    def tables(self) -> tuple[ColumnPlaces, ...]:
        """The columns of each table that is needed, each once."""

    @property
    def names(self) -> QueryNames:
        """The names of all queries."""

    def answers(self, table: Callable[[ColumnPlaces], Floats]) -> Floats:
        """Answer from estimated tables."""

    def exact(self, tables: Mapping[ColumnPlaces, Bounded]) -> Bounded:
        """Answer from exact tables; each answer moves by no more than a table does in L1."""


@dataclass(frozen=True)
class StatementWorkload:
    """SQL statements.

    >>> grid = Grid.from_mapping({name: {"edges": [0, 1, 2]} for name in "abc"})
    >>> statements = "SELECT COUNT(*) FROM t WHERE c = 1", "SELECT COUNT(*) FROM t GROUP BY a"
    >>> workload = StatementWorkload.parse(statements, grid)
    >>> workload.tables, workload.answers(lambda places: np.array([5.0, 3.0])).tolist()
    (((2,), (0,)), [3.0, 5.0, 3.0])
    """

    counts: tuple[TableCounts, ...]

    @classmethod
    def parse(cls, statements: tuple[str, ...], grid: Grid) -> StatementWorkload:
        """Parse statements; refuse what cannot be answered."""
        return cls(tuple(table_counts(statement, grid, MOST_CELLS) for statement in statements))

    @property
    def tables(self) -> tuple[ColumnPlaces, ...]:
        """The columns of each table that is needed, each once."""
        return tuple(dict.fromkeys(counts.places for counts in self.counts))

    @cached_property
    def names(self) -> QueryNames:
        """The names of all queries."""
        statements = [counts.statement for counts in self.counts for _ in counts.cells]
        return QueryNames(tuple(statements), tuple(cell for counts in self.counts for cell in counts.cells))

    def answers(self, table: Callable[[ColumnPlaces], Floats]) -> Floats:
        """Answer from estimated tables."""
        tables: dict[ColumnPlaces, Floats] = {places: table(places) for places in self.tables}
        parts = []
        for counts in self.counts:
            size = len(counts.cells)
            parts.append(np.bincount(counts.groups, tables[counts.places].ravel(), minlength=size + 1)[:size])
        return np.concatenate(parts)

    def exact(self, tables: Mapping[ColumnPlaces, Bounded]) -> Bounded:
        """Answer from exact tables; the last group of each, cells of no count, is left out."""
        answers = []
        for counts in self.counts:
            table, size = tables[counts.places], len(counts.cells)
            answers.append(head(group_sums(head(table, table.size), counts.groups, size + 1), size))
        return concatenate_tables(answers)


@dataclass(frozen=True)
class RowWorkload:
    """Rows of zeros and ones over all cells, of which there must be few."""

    rows: LinearQueries
    grid: Grid

    @property
    def tables(self) -> tuple[ColumnPlaces, ...]:
        """All columns, as one table."""
        return (tuple(range(len(self.grid.bins))),)

    @property
    def names(self) -> QueryNames:
        """The names of all queries."""
        return QueryNames.for_rows(self.rows)

    def answers(self, table: Callable[[ColumnPlaces], Floats]) -> Floats:
        """Answer from an estimated table."""
        return self.rows.sums(table(self.tables[0]).ravel())

    def exact(self, tables: Mapping[ColumnPlaces, Bounded]) -> Bounded:
        """Answer from the exact table."""
        cells = tables[self.tables[0]]
        return exact_answers(head(cells, cells.size), self.rows)


def _no_queries_error() -> UsageError:
    return UsageError("no query is asked", remedy="for example SELECT COUNT(*) FROM people WHERE age >= 18")
