"""Local measurement of marginal tables: records are kept once and counted in every table."""

from __future__ import annotations

from math import prod

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds import BoundedTables, Marginals, seal_marginals
from headcount.engines.local.measures.group_cells import kept_cells
from headcount.engines.local.runner import LocalRunner
from headcount.events.grid import Grid
from headcount.events.log import EventLog


def measure_marginals(passes: LocalRunner, log: EventLog, bound: Marginals, secret: bytes) -> BoundedTables:
    """Keep what the bound allows of each person and of each group, and count it per table."""
    bins = to_bins(bound.group_cells.grid, kept_cells(passes, log, bound.group_cells, secret))
    tables = []
    for columns, shape in zip(bound.tables, bound.shapes, strict=True):
        at = np.zeros(bins[0].size, dtype=np.int64)
        for place, size in zip(columns, shape, strict=True):
            at = at * size + bins[place]
        tables.append(np.bincount(at, minlength=prod(shape)).astype(np.int64).reshape(shape))
        passes.progress("counting tables", len(tables), len(bound.tables))
    return seal_marginals(bound, tables)


def to_bins(grid: Grid, cells: Integers) -> list[Integers]:
    """Return the bin of each column that cells are in, the last column running quickest.

    >>> to_bins(Grid.of({"a": {"edges": [0, 1, 2]}, "b": {"edges": [0, 1, 2, 3]}}), np.array([5, 1]))
    [array([1, 0]), array([2, 1])]
    """
    bins = []
    for size in reversed(grid.shape):
        cells, bin_of_column = np.divmod(cells, size)
        bins.append(bin_of_column)
    return bins[::-1]
