"""The start table and the updates of multiplicative weights, shared by MWEM and PMW.

The start table is fitted to noisy margins of few columns, such as all pairs of columns. The counts of one margin
are disjoint, so one share of the budget serves all of them. How many columns are taken together depends on public
numbers and the released total alone: as many as leave counts well above their noise.

Reference
    M. Hardt, K. Ligett, F. McSherry. A Simple and Practical Algorithm for Differentially Private Data Release.
    NeurIPS 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, Sensitivity
from headcount.bounds.linear_maps import group_sums
from headcount.events.grid import Grid
from headcount.methods.queries.inference.table_fitting import SETTLED, Margin, positive_counts, scale_to_margins
from headcount.noise import NoiseSource, add_noise, can_draw
from headcount.noise.stages import Stage, split_among_stages, split_evenly

MIN_SIGNAL_TO_NOISE = 4
"""How many times above the scale of its noise the average count of a margin should be."""

_MAX_MARGINS = 200
_SWEEPS = 20
_PASSES = 10  # over all answers released so far, after each of them

NoisyAnswer = tuple[NDArray[np.bool_], float]
"""A released answer: the cells of its query, and the number."""


@dataclass(frozen=True)
class StartTable:
    """Fitted cells, the number of columns of each margin that they are fitted to, and the margins' noise."""

    cells: Floats
    order: int
    distribution: NoiseDistribution

    @property
    def description(self) -> str:
        """The margins and their noise, as a part of a sentence."""
        columns = {1: "each column", 2: "each pair of columns"}.get(self.order, f"every {self.order} columns")
        return f"{columns}, which got {self.distribution.in_words()}"


def margin_order(grid: Grid, total: float, max_records: int, epsilon: float) -> int:
    """Return how many columns to take together: at most all, and at least one.

    >>> grid = Grid.from_mapping({name: {"from": 0, "to": 16, "bins": 16} for name in "abcd"})
    >>> margin_order(grid, 48_842, 1, 0.6), margin_order(grid, 48_842, 10, 0.6), margin_order(grid, 1e7, 1, 1.0)
    (2, 1, 4)
    """
    for order in range(len(grid.bins), 1, -1):
        tables = comb(len(grid.bins), order)
        if tables > _MAX_MARGINS:
            continue
        largest = prod(sorted(grid.shape)[-order:])
        drawable = can_draw(tables * max_records, Fraction(epsilon))
        if drawable and total / largest >= MIN_SIGNAL_TO_NOISE * tables * max_records / epsilon:
            return order
    return 1


def start_stage(grid: Grid, max_records: int, share: Decimal) -> Stage:
    """Return the stage that counts margins: at least those of single columns must be drawn, side by side."""
    return Stage("start", share, sensitivity=Sensitivity.of_l1(len(grid.bins) * max_records))


def measure_start(cells: Bounded, grid: Grid, total: float, grant: Grant, noise: NoiseSource) -> StartTable:
    """Spend a grant on the margins of as many columns as pay, and fit a table to them."""
    order = margin_order(grid, total, cells.sensitivity.l1, float(grant.exact))
    columns_of_margins = list(combinations(range(len(grid.bins)), order))
    grants = split_among_stages(split_evenly(range(len(columns_of_margins))), grant)
    margins = []
    for columns, part in zip(columns_of_margins, grants.values(), strict=True):
        size = prod(grid.shape[place] for place in columns)
        noisy = add_noise(group_sums(cells, margin_cells(grid, columns), size), part, noise)
        least = float(noisy.distribution.variance) ** 0.5 / 16  # noise cannot tell such a count from 0
        margins.append(Margin.over(grid.shape, columns, positive_counts(noisy.counts, total, least)))
    table = scale_to_margins(np.full(grid.shape, total / grid.cells), margins, _SWEEPS, SETTLED * total)
    return StartTable(table.ravel(), order, noisy.distribution)


def margin_cells(grid: Grid, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return, for every cell of a grid, its cell in the margin over some columns."""
    numbers = np.zeros((1,) * len(grid.bins), dtype=np.int64)
    for place in columns:
        size = grid.shape[place]
        own = np.arange(size).reshape([size if place == axis else 1 for axis in range(len(grid.bins))])
        numbers = numbers * size + own
    return np.ascontiguousarray(np.broadcast_to(numbers, grid.shape)).ravel()


def update_table(table: Floats, released: Sequence[NoisyAnswer], total: float) -> Floats:
    """Return the table after several passes over all released answers, the latest first."""
    for _ in range(_PASSES):
        for mask, answer in reversed(released):
            table = _reweight(table, mask, answer, total)
    return table


def _reweight(table: Floats, mask: NDArray[np.bool_], answer: float, total: float) -> Floats:
    """Multiply the cells under a mask by exp((answer - estimate) / 2 total), and scale the table to its total."""
    estimate = float(table[mask].sum())
    stepped = table.copy()
    stepped[mask] *= np.exp((min(max(answer, 0.0), total) - estimate) / (2 * total))
    return np.asarray(stepped * (total / stepped.sum()))
