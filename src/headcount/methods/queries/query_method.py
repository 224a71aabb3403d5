"""Base of query methods: the queries, the grid of cells and the contribution bound of one group.

All of it is public, and fixed before any record is read; every method of this family has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.accounting.budget import CostOrGrant
from headcount.accounting.guarantee import GROUP_UNIT, Guarantee, Standing
from headcount.bounds import Bounded, GroupCells, LinearQueries, Sensitivity
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.encode.cells import check_table
from headcount.events.grid import Grid, NumberBins
from headcount.events.log import EventLog
from headcount.events.sources.row_as_user import RowAsUserSource
from headcount.methods.method import ONE_ID, Bounds, Staged, describe_filters
from headcount.methods.queries import ANSWERS
from headcount.methods.queries.components import Energies, energies
from headcount.methods.queries.sql import Cell, counts_of
from headcount.methods.queries.workload import Named, RowWorkload, StatementWorkload, Workload, no_queries_error
from headcount.releases.formatting import some

PUBLIC_GRID = "the bins, the queries and all limits are public, fixed without looking at the table"
PUBLIC_GROUPS = "who belongs to which group is public"


@dataclass(frozen=True, kw_only=True)
class TableQueries:
    """Queries over a grid, as SQL ``statements`` or as ``rows`` of zeros and ones; ``groups`` names a column.

    >>> grid = Grid.of({"age": {"edges": [0, 18, 65, 120]}})
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
                "--groups and --max-group go together: the column that says who belongs together, and the most "
                "people of a group that count",
                remedy="for example --groups household --max-group 6",
            )
        if self.max_group is not None and self.max_group < 2:
            raise UsageError(
                "max_group must be 2 or more",
                given=self.max_group,
                remedy="leave --groups and --max-group out to protect each person alone",
            )
        if self.rows is not None and self.rows.cells != self.grid.cells:
            raise UsageError(
                f"the queries are over {self.rows.cells:,} cells, but the bins make {self.grid.cells:,}",
                remedy="give one column a cell, the last column of the bins running quickest",
            )

    @property
    def bound(self) -> GroupCells:
        """What one group may add at most."""
        return GroupCells(self.grid, self.groups, self.max_records, self.max_group or 1)

    @property
    def has_queries(self) -> bool:
        """Whether it is known what is asked: in a session it is not."""
        return bool(self.statements) or self.rows is not None

    @cached_property
    def workload(self) -> Workload:
        """The queries as counts of tables over few columns, for methods that never look at all cells."""
        if self.rows is not None:
            return RowWorkload(self.rows, self.grid)
        return StatementWorkload.of(self.statements, self.grid)

    @cached_property
    def _read(self) -> tuple[LinearQueries, Named]:
        if self.rows is not None:
            return self.rows, Named.of_rows(self.rows)
        if not self.statements:
            raise no_queries_error()
        self.grid.check_narrow()
        statements: list[str] = []
        cells: list[Cell] = []

        def masks() -> Any:
            for statement in self.statements:
                for counted in counts_of(statement, self.grid):
                    statements.append(counted.statement)
                    cells.append(counted.cell)
                    yield counted.mask

        rows = LinearQueries.from_masks(masks(), self.grid.cells)
        return rows, Named(tuple(statements), tuple(cells))

    @property
    def queries(self) -> LinearQueries:
        """The rows of all queries."""
        return self._read[0]

    @cached_property
    def energies(self) -> Energies | None:
        """What the queries ask of columns alone, in pairs and so on; None if that is too much."""
        return energies(self.queries, self.grid.shape)

    @property
    def named(self) -> Named:
        """What each of them is called."""
        return self._read[1]

    @property
    def moved(self) -> Sensitivity:
        """How far one person or group moves the cells, and any count of them."""
        return Sensitivity.of_l1(self.bound.max_records_of_group)

    def check(self, log: EventLog) -> None:
        """Refuse a log that does not fit, and queries that cannot be answered, before any record is read."""
        self.check_table(log)
        _ = self.queries

    def check_table(self, log: EventLog) -> None:
        """Refuse a log that does not fit, whatever is asked."""
        self.grid.check_narrow()
        check_table(log, self.grid, self.groups)
        if self.max_records > 1 and isinstance(log.source, RowAsUserSource):
            raise UsageError(
                f"--max-records {self.max_records} is given without --user, so that every row is one person",
                remedy="leave it out, or name the column that says who",
            )

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """ε, and δ if there is one, for adding or removing a person, or a whole group."""
        promised = Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=(PUBLIC_GRID, ONE_ID))
        if self.groups is None:
            return promised
        return replace(
            promised,
            unit=GROUP_UNIT,
            group=self.groups,
            members=self.max_group,
            assumes=(*promised.assumes, PUBLIC_GROUPS),
        )

    def count(self, log: EventLog, engine: Engine, secret: bytes) -> Bounded:
        """Count the cells of the grid, bounded."""
        return engine.measure(log, self.bound, secret)

    @property
    def bounded(self) -> str:
        """What one person or group could add at most, in words."""
        words = f"at most {some(self.max_records, 'record')} per person"
        if self.groups is not None:
            words += f" and {self.max_group:,} people per {self.groups}"
        return words

    def story(self, log: EventLog) -> list[str]:
        """Say what was counted."""
        columns = ", ".join(
            f"{column_bins.column} ({some(column_bins.size, 'bin')})" for column_bins in self.grid.bins
        )
        sentences = [
            *describe_filters(log),
            f"Records were {'told apart by' if self.grid.is_wide else 'counted in'} "
            f"{some(self.grid.cells, 'cell')} of a public grid: {columns}.",
            "Each row counted as one person."
            if isinstance(log.source, RowAsUserSource)
            else f"Of each person {_at_random(self.max_records, 'record')} counted.",
        ]
        if any(isinstance(column_bins, NumberBins) for column_bins in self.grid.bins):
            sentences[-1] += " Numbers beyond the outer edges counted in the outer bins."
        if self.groups is not None:
            sentences.append(
                f"Of all people with the same {self.groups!r}, at most {self.max_group:,} counted, drawn at "
                "random: a larger group was cut down."
            )
        return sentences


def answers_table(named: Named, columns: Mapping[str, Sequence[float | None] | Floats]) -> pa.Table:
    """Make the table of answers: the query, the cell of its GROUP BY, the answer, and what goes with it.

    The cell is there as one text, and as a column for each attribute that any query groups by.
    """
    return pa.table(
        {
            **named.columns,
            **_attributes(named.cells, {*ANSWERS.columns, *columns, "how"}),
            **{
                name: pa.array(np.asarray(column, dtype=np.float64), from_pandas=True)  # no number: null
                for name, column in columns.items()
            },
        }
    )


def _attributes(cells: Sequence[Cell], taken: set[str]) -> dict[str, pa.Array]:
    """Return the bin of each attribute that is grouped by; one that is called as a column of answers gets a mark.

    >>> {name: bins.to_pylist() for name, bins in _attributes([(), (("low", "3"),)], {"low"}).items()}
    {'low_': [None, '3']}
    """
    labels_by_column: defaultdict[str, list[str | None]] = defaultdict(lambda: [None] * len(cells))
    for place, cell in enumerate(cells):
        for column, named in cell:
            labels_by_column[column][place] = named
    names = dict.fromkeys(labels_by_column, "")
    for column in names:
        name = column
        while name in taken:
            name += "_"
        names[column] = name
        taken = {*taken, name}
    return {names[column]: pa.array(bins, pa.string()) for column, bins in labels_by_column.items()}


def _at_random(most: int, noun: str) -> str:
    return f"one random {noun}" if most == 1 else f"at most {most:,} random {noun}s"


@dataclass(frozen=True, kw_only=True)
class QueryMethod(Staged):
    """A method that answers what is asked, for adding or removing a person, or a whole group."""

    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (GroupCells,)
    takes_delta: ClassVar[bool] = False
    """Whether it has a use for a δ."""

    asked: TableQueries

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Promise what is asked for."""
        return self.asked.guarantee(priced)

    def check(self, log: EventLog) -> None:
        """Refuse what cannot be counted or asked."""
        self.asked.check(log)
