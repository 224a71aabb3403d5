"""Reference of marginals: tables over some columns of a grid, from the records that grid cells keep."""

from __future__ import annotations

import numpy as np

from headcount.bounds.grid.marginals import BoundedTables, Marginals
from headcount.events.log import EventLog
from tests.reference.grid_cells import kept_cells
from tests.reference.registry import measures


@measures(Marginals)
def count_marginals(log: EventLog, bound: Marginals, secret: bytes) -> BoundedTables:
    """Count every kept record once in each table.

    >>> import pyarrow as pa
    >>> from headcount.bounds.grid.user_group_cells import GroupCells
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> log = read_people(pa.table({"who": ["ann", "bob"], "age": [30, 70], "size": [1, 1]}), user="who")
    >>> cells = GroupCells(Grid.from_mapping({"age": {"edges": [0, 65, 120]}, "size": {"edges": [0, 1, 2]}}))
    >>> measured = count_marginals(log, Marginals(cells, ((0,), (0, 1))), bytes(16))
    >>> [table.sensitive_values.tolist() for table in measured.tables]
    [[1, 1], [[0, 1], [0, 1]]]
    """
    tables = [np.zeros(shape, dtype=np.int64) for shape in bound.shapes]
    for cell in kept_cells(log, bound.group_cells, secret):
        bins: list[int] = []
        rest = cell
        for size in reversed(bound.group_cells.grid.shape):
            rest, own = divmod(rest, size)
            bins.insert(0, own)
        for table, columns in zip(tables, bound.tables, strict=True):
            table[tuple(bins[place] for place in columns)] += 1
    return bound.seal(tables)
