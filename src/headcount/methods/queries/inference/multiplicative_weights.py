"""Tables fitted by multiplicative weights and iterative scaling until they match released counts.

A fit starts from noisy counts of low dimension, such as all pairs of columns: each is a whole table of disjoint
cells, so that one share of noise serves all of its counts at once. The cells are weighted alike at first, and
multiplied in turn until they add up to each of these tables (iterative proportional fitting). Of all tables that
agree with the counts this is the one with the most entropy: it makes nothing up.

How many columns are looked at together hangs on public numbers alone, and the released total: as many as leave
counts well above their noise. All fitting is post-processing.

Reference
    W. Deming, F. Stephan. On a Least Squares Adjustment of a Sampled Frequency Table When the Expected Marginal
    Totals Are Known. Annals of Mathematical Statistics 1940.
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
from headcount.bounds import Bounded, Sensitivity, group_sums
from headcount.events.grid import Grid
from headcount.noise import NoiseSource, add_noise, can_draw
from headcount.noise.stages import Stage, split_among_stages, split_evenly
from headcount.releases.reconcile import project_onto_total

CLEAR = 4
"""How many times above the scale of its noise the average count of a table should be."""

_MOST_TABLES = 200
_SWEEPS = 20
_SETTLED = 1e-4  # of the total


@dataclass(frozen=True)
class Marginal:
    """A table over some columns: their places, and counts that are not negative and add up to the total."""

    places: tuple[int, ...]
    counts: Floats


@dataclass(frozen=True)
class FittedTable:
    """Fitted cells, how many columns each table is over that they are fitted to, and the noise of these tables."""

    cells: Floats
    order: int
    distribution: NoiseDistribution


def order_for(grid: Grid, total: float, reach: int, epsilon: float) -> int:
    """Return how many columns to look at together: at most all, and at least one.

    >>> grid = Grid.of({name: {"from": 0, "to": 16, "bins": 16} for name in "abcd"})
    >>> order_for(grid, 48_842, 1, 0.6), order_for(grid, 48_842, 10, 0.6), order_for(grid, 1e7, 1, 1.0)
    (2, 1, 4)
    """
    for order in range(len(grid.bins), 1, -1):
        tables = comb(len(grid.bins), order)
        if tables > _MOST_TABLES:
            continue
        largest = prod(sorted(grid.shape)[-order:])
        drawn = can_draw(tables * reach, Fraction(epsilon))
        if drawn and total / largest >= CLEAR * tables * reach / epsilon:
            return order
    return 1


def start_stage(grid: Grid, reach: int, share: Decimal) -> Stage:
    """Return the stage that counts tables: at least those of single columns must be drawn, side by side."""
    return Stage("start", share, sensitivity=Sensitivity.of_l1(len(grid.bins) * reach))


def fitted(cells: Bounded, grid: Grid, total: float, grant: Grant, noise: NoiseSource) -> FittedTable:
    """Spend a grant on all tables of as many columns as are worth it, and fit the cells to them."""
    order = order_for(grid, total, cells.sensitivity.l1, float(grant.exact))
    places = list(combinations(range(len(grid.bins)), order))
    grants = split_among_stages(split_evenly(range(len(places))), grant)
    tables = []
    for columns, part in zip(places, grants.values(), strict=True):
        shape = tuple(grid.shape[place] for place in columns)
        noisy = add_noise(group_sums(cells, labels(grid, columns), prod(shape)), part, noise)
        counts = project_onto_total(noisy.counts, total)
        counts = np.maximum(
            counts, float(noisy.distribution.variance) ** 0.5 / 16
        )  # noise cannot tell such a count from 0
        tables.append(Marginal(columns, (counts * (total / counts.sum())).reshape(shape)))
    return FittedTable(fit_tables(grid, tables, total), order, noisy.distribution)


def labels(grid: Grid, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return, for every cell, its place in the table over some columns."""
    numbers = np.zeros((1,) * len(grid.bins), dtype=np.int64)
    for place in columns:
        size = grid.shape[place]
        own = np.arange(size).reshape([size if at == place else 1 for at in range(len(grid.bins))])
        numbers = numbers * size + own
    return np.ascontiguousarray(np.broadcast_to(numbers, grid.shape)).ravel()


def fit_tables(grid: Grid, tables: Sequence[Marginal], total: float) -> Floats:
    """Multiply cells until they add up to each table, or nearly so where tables do not agree.

    >>> grid = Grid.of({"a": {"edges": [0, 1, 2]}, "b": {"edges": [0, 1, 2]}})
    >>> tables = [Marginal((0,), np.array([6.0, 2.0])), Marginal((1,), np.array([4.0, 4.0]))]
    >>> fit_tables(grid, tables, 8.0).tolist()
    [3.0, 3.0, 1.0, 1.0]
    """
    cells = np.full(grid.shape, total / grid.cells)
    everywhere = range(len(grid.bins))
    for _ in range(_SWEEPS):
        furthest = 0.0
        for table in tables:
            others = tuple(place for place in everywhere if place not in table.places)
            sums = cells.sum(axis=others, keepdims=True)
            wanted = table.counts.reshape(sums.shape)
            furthest = max(furthest, float(np.abs(sums - wanted).sum()))
            cells *= np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
        if furthest < _SETTLED * total:
            break
    return np.asarray(cells.ravel())


def reweighted(cells: Floats, mask: NDArray[np.bool_], wanted: float, total: float) -> Floats:
    """Take one multiplicative step towards ``wanted`` records under a mask; the total stays.

    The cells under the mask are multiplied by exp((wanted - found) / 2 total): the step that multiplicative
    weights take.
    """
    current = float(cells[mask].sum())
    stepped = cells.copy()
    stepped[mask] *= np.exp((min(max(wanted, 0.0), total) - current) / (2 * total))
    return np.asarray(stepped * (total / stepped.sum()))


def columns_in_words(order: int) -> str:
    """Say over which columns tables are.

    >>> columns_in_words(2)
    'each pair of columns'
    """
    return {1: "each column", 2: "each pair of columns"}.get(order, f"every {order} columns")
