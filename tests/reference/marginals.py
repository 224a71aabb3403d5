"""Reference of marginals: tables over some columns of a grid, from the records that grid cells keep."""

from __future__ import annotations

import numpy as np

from headcount.bounds import BoundedTables, Marginals, certify_marginals
from headcount.events.log import EventLog
from tests.reference.grid_cells import kept_cells


def count_marginals(log: EventLog, bound: Marginals, secret: bytes) -> BoundedTables:
    """Count every kept record once in each table.

    >>> import pyarrow as pa
    >>> from headcount.bounds import Cells
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> log = read_people(pa.table({"who": ["ann", "bob"], "age": [30, 70], "size": [1, 1]}), user="who")
    >>> cells = Cells(Grid.of({"age": {"edges": [0, 65, 120]}, "size": {"edges": [0, 1, 2]}}))
    >>> found = count_marginals(log, Marginals(cells, ((0,), (0, 1))), bytes(16))
    >>> [each.sensitive_values.tolist() for each in found.tables]
    [[1, 1], [[0, 1], [0, 1]]]
    """
    tables = [np.zeros(shape, dtype=np.int64) for shape in bound.shapes]
    for cell in kept_cells(log, bound.of, secret):
        bins: list[int] = []
        rest = cell
        for size in reversed(bound.of.grid.shape):
            rest, own = divmod(rest, size)
            bins.insert(0, own)
        for table, columns in zip(tables, bound.tables, strict=True):
            table[tuple(bins[place] for place in columns)] += 1
    return certify_marginals(bound, tables)
