"""A model of a wide table from noisy counts of columns and pairs of columns; joint tables and synthetic rows.

A joint table of some columns has the most entropy among all that agree with the counts of its columns and pairs.
So three columns have no association beyond that of their pairs.

Some pairs have noisy counts; the others follow from them. A third column c implies Σ P(a | c) P(b | c) P(c) for
two columns a and b, as if they had no other association. That is the expected table of a pair, with the c that has
the most information on both, and noisy counts are shrunk towards it:
:func:`headcount.methods.queries.inference.table_fitting.shrink_by_factors`.

Synthetic rows are drawn column by column, each from its joint table with the few columns drawn before that have
the most information on it. A listed value stands for itself, and everything else is missing. Within a bin of
numbers all values are equally likely: whole numbers where the edges are whole.

Everything here is post-processing.

Reference
    W. Deming, F. Stephan. On a Least Squares Adjustment of a Sampled Frequency Table When the Expected Marginal
    Totals Are Known. Annals of Mathematical Statistics 1940.
    C. Chow, C. Liu. Approximating Discrete Probability Distributions with Dependence Trees. IEEE Transactions on
    Information Theory 1968, for the table that a third column implies.
    J. Zhang, G. Cormode, C. Procopiuc, D. Srivastava, X. Xiao. PrivBayes: Private Data Release via Bayesian
    Networks. SIGMOD 2014, for rows drawn column by column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
import pyarrow as pa
from numpy.random import PCG64, Generator

from headcount._internal.arrays import Floats, Integers
from headcount.events.grid import Bins, Grid, NumberBins
from headcount.methods.queries.inference.table_fitting import (
    SETTLED,
    Margin,
    positive_counts,
    scale_to_margins,
    shrink_by_factors,
)

Pair = tuple[int, int]
"""Two columns by their places, the first before the second."""

MAX_ROWS = 100_000_000

_SWEEPS, _PAIR_SWEEPS = 20, 5
_LEAST_PART = 1e-3  # of a cell as if columns were independent: nothing is known to be impossible
_LEAST_COUNT = 1e-6
_MAX_PARENTS = 3
_MAX_DRAWN_TABLE = 100_000  # cells of a table that rows are drawn from
_DRAWN_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class PairModel:
    """Counts of each column and of each pair of columns, all above 0 and with the same total.

    >>> columns = (np.array([6.0, 2.0]), np.array([4.0, 4.0]), np.array([5.0, 3.0]))
    >>> model = PairModel(columns, {pair: independent_table(columns, pair) for pair in combinations(range(3), 2)})
    >>> model.table((0, 1, 2))[0].round(3).tolist()
    [[1.875, 1.125], [1.875, 1.125]]
    """

    columns: tuple[Floats, ...]
    pairs: Mapping[Pair, Floats]

    @property
    def total(self) -> float:
        """The number of records."""
        return float(self.columns[0].sum())

    def table(self, places: Sequence[int]) -> Floats:
        """Return the counts over some columns, in rising order: those with most entropy given all their pairs."""
        if len(places) < 2:
            return self.columns[places[0]] if places else np.array(self.total)
        if len(places) == 2:
            return self.pairs[places[0], places[1]]
        cells = np.array(self.total)
        for place in places:
            cells = np.multiply.outer(cells, self.columns[place] / self.total)
        margins = [
            Margin.over(cells.shape, (first, second), self.pairs[places[first], places[second]])
            for first, second in combinations(range(len(places)), 2)
        ]
        return scale_to_margins(cells, margins, _SWEEPS, SETTLED * self.total)

    @cached_property
    def mutual_information(self) -> Floats:
        """The mutual information of each two columns, in nats; 0 on the diagonal."""
        information = np.zeros((len(self.columns),) * 2)
        for (first, second), table in self.pairs.items():
            share = table / table.sum()
            independent = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
            nats = float((share * np.log(share / independent)).sum())
            information[first, second] = information[second, first] = nats
        return information

    def draw_bins(self, number: int, draw: Generator) -> list[Integers]:
        """Draw so many rows: the bin of each column, by the places of the columns.

        >>> columns = (np.array([6.0, 2.0]), np.array([4.0, 4.0]))
        >>> model = PairModel(columns, {(0, 1): np.array([[4.0, 2.0], [1e-9, 2.0]])})
        >>> first, second = model.draw_bins(8000, np.random.default_rng(1))
        >>> round(first.mean(), 1), round(second[first == 1].mean(), 3)
        (np.float64(0.3), np.float64(1.0))
        """
        drawn: dict[int, Integers] = {}
        while len(drawn) < len(self.columns):
            column, parents = self._next_column(list(drawn))
            places = sorted((column, *parents))
            table = np.moveaxis(self.table(places), places.index(column), -1)
            given = np.zeros(number, dtype=np.int64)
            for place in sorted(parents):
                given = given * self.columns[place].size + drawn[place]
            drawn[column] = _draw_conditionally(table.reshape(-1, table.shape[-1]), given, draw)
        return [drawn[place] for place in range(len(self.columns))]

    def _next_column(self, before: list[int]) -> tuple[int, list[int]]:
        """Return the column to draw next, and its parents: the few before it with the most information on it."""
        left = [place for place in range(len(self.columns)) if place not in before]
        if not before:
            return int(np.argmax(self.mutual_information.sum(axis=1))), []
        column = max(left, key=lambda place: float(self.mutual_information[place, before].max()))
        parents: list[int] = []
        for place in sorted(before, key=lambda place: -self.mutual_information[column, place])[:_MAX_PARENTS]:
            if prod(self.columns[index].size for index in (column, place, *parents)) <= _MAX_DRAWN_TABLE:
                parents.append(place)
        return column, parents


def _draw_conditionally(tables: Floats, given: Integers, draw: Generator) -> Integers:
    """Draw a bin for each row from the counts that go with its parents."""
    cumulative = np.cumsum(tables, axis=1)
    cumulative /= cumulative[:, -1:]
    cumulative[:, -1] = 1.0
    drawn = np.empty(given.size, dtype=np.int64)
    size = max(1, _DRAWN_AT_ONCE // tables.shape[1])
    for start in range(0, given.size, size):
        part = given[start : start + size]
        drawn[start : start + size] = (cumulative[part] <= draw.random((part.size, 1))).sum(axis=1)
    return drawn


def clean_columns(noisy: Sequence[Floats], deviation: float) -> tuple[Floats, ...]:
    """Return counts of columns that are above 0 and have one total, the mean of theirs, weighted by precision.

    >>> [table.round(3).tolist() for table in clean_columns([np.array([8.0, -2.0]), np.array([5.0, 3.0])], 0.0)]
    [[7.0, 0.0], [4.5, 2.5]]
    """
    weights = [1 / table.size for table in noisy]
    total = max(1.0, float(np.average([table.sum() for table in noisy], weights=weights)))
    least = max(deviation / 16, _LEAST_COUNT)  # noise cannot tell such a count from 0
    return tuple(positive_counts(table, total, least) for table in noisy)


def independent_table(columns: Sequence[Floats], pair: Pair) -> Floats:
    """Return the table of a pair of columns that are independent."""
    first, second = pair
    return np.asarray(np.multiply.outer(columns[first], columns[second]) / columns[first].sum())


def fit_pair_model(columns: tuple[Floats, ...], noisy: Mapping[Pair, Floats], deviation: float) -> PairModel:
    """Return the model of counts of columns, and noisy counts of some pairs.

    Pairs are first shrunk towards independence, then towards the table that a third column implies.
    """
    independent = {pair: independent_table(columns, pair) for pair in combinations(range(len(columns)), 2)}
    first = _shrink_pairs(independent, columns, noisy, deviation)
    if len(columns) < 3:
        return first
    implied = {
        pair: np.maximum(_implied_by_third(first, pair), _LEAST_PART * independent[pair]) for pair in independent
    }
    return _shrink_pairs(implied, columns, noisy, deviation)


def _shrink_pairs(
    expected: Mapping[Pair, Floats], columns: tuple[Floats, ...], noisy: Mapping[Pair, Floats], deviation: float
) -> PairModel:
    pairs = dict(expected)
    if noisy:
        shrunk = shrink_by_factors(list(noisy.values()), [expected[pair] for pair in noisy], deviation)
        pairs |= dict(zip(noisy, shrunk, strict=True))
    return PairModel(columns, {pair: _scale_to_columns(table, columns, pair) for pair, table in pairs.items()})


def _scale_to_columns(table: Floats, columns: Sequence[Floats], pair: Pair) -> Floats:
    """Scale the table of a pair until its rows and columns have the counts of the two columns."""
    first, second = (columns[place] for place in pair)
    raised = np.maximum(table, _LEAST_PART * np.multiply.outer(first, second) / first.sum())
    margins = [Margin.over(raised.shape, (axis,), counts) for axis, counts in enumerate((first, second))]
    return scale_to_margins(raised, margins, _PAIR_SWEEPS, 0.0)


def _implied_by_third(model: PairModel, pair: Pair) -> Floats:
    """Return the table of a pair that follows from the third column with the most information on both."""
    first, second = pair
    both = np.minimum(model.mutual_information[first], model.mutual_information[second])
    both[[first, second]] = -1.0
    third = int(np.argmax(both))
    left = model.table((first, third)) if first < third else model.table((third, first)).T
    right = model.table((third, second)) if third < second else model.table((second, third)).T
    return np.asarray(left / model.columns[third] @ right)


def synthetic_rows(model: PairModel, grid: Grid, number: int, key: bytes) -> pa.Table:
    """Draw so many rows; ``key`` is fresh from the source of noise, hence from the operating system."""
    draw = Generator(PCG64(int.from_bytes(key, "little")))
    bins = model.draw_bins(number, draw)
    return pa.table(
        {own.column: draw_values(own, drawn, draw) for own, drawn in zip(grid.bins, bins, strict=True)}
    )


def draw_values(bins: Bins, places: Integers, draw: Generator) -> pa.Array:
    """Return a value of each bin.

    >>> draw = Generator(PCG64(1))
    >>> draw_values(NumberBins("age", (0, 18, 19, 120)), np.array([1, 0, 1]), draw).to_pylist()
    [18, 8, 18]
    """
    if isinstance(bins, NumberBins):
        edges = np.array(bins.edges)
        low, high = edges[:-1][places], edges[1:][places]
        return pa.array(draw.integers(low, high) if bins.is_whole else draw.uniform(low, high))
    listed = pa.array([*bins.values, *([None] if bins.other else [])])
    return listed.take(pa.array(places))
