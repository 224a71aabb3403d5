"""A model of a wide table from noisy counts of columns and pairs of columns, and its joint tables.

A table over some columns is the one with the most entropy among all that agree with the counts of its columns and
pairs: cells are multiplied until they add up to each pair (iterative proportional fitting). So no more is said of
three columns than what their pairs tell. Rows are drawn column by column, each from its table with the few columns
drawn before that tell most of it.

Pairs come from noisy counts where these were released, and else from what other pairs tell. Of two columns a and b
a third one c tells Σ P(a | c) P(b | c) P(c): as much as if nothing else joined them. That is expected of a pair,
c being the column that tells most of both, and noisy counts are drawn towards it: see
:mod:`headcount.methods.queries.inference.empirical_bayes`.

Everything here looks at released numbers alone.

Reference
    W. Deming, F. Stephan. On a Least Squares Adjustment of a Sampled Frequency Table When the Expected Marginal
    Totals Are Known. Annals of Mathematical Statistics 1940.
    C. Chow, C. Liu. Approximating Discrete Probability Distributions with Dependence Trees. IEEE Transactions on
    Information Theory 1968, for what a third column tells of two.
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
from numpy.random import Generator

from headcount._internal.arrays import Floats, Integers
from headcount.methods.queries.inference.empirical_bayes import shrunk
from headcount.releases.reconcile import project_onto_total

Pair = tuple[int, int]
"""Two columns by their places, the first before the second."""

_SWEEPS = 20
_SETTLED = 1e-4  # of the total
_LEAST = 1e-3  # of what columns alone would make of a cell: nothing is known to be impossible
_TINY = 1e-6
_PARENTS = 3
_LARGEST = 100_000  # cells of a table that rows are drawn from
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class PairModel:
    """Counts of each column and of each pair of columns, all above 0 and summing to the same total.

    >>> columns = (np.array([6.0, 2.0]), np.array([4.0, 4.0]), np.array([5.0, 3.0]))
    >>> model = PairModel(columns, {pair: independent(columns, pair) for pair in combinations(range(3), 2)})
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
        axes = range(len(places))
        for _ in range(_SWEEPS):
            furthest = 0.0
            for first, second in combinations(axes, 2):
                wanted = self.pairs[places[first], places[second]]
                sums = cells.sum(axis=tuple(axis for axis in axes if axis not in (first, second)))
                furthest = max(furthest, float(np.abs(sums - wanted).sum()))
                shape = [size if axis in (first, second) else 1 for axis, size in enumerate(cells.shape)]
                cells *= (wanted / sums).reshape(shape)
            if furthest < _SETTLED * self.total:
                break
        return np.asarray(cells)

    @cached_property
    def mutual_information(self) -> Floats:
        """How much each column tells of each other one, in nats; nothing of itself."""
        information = np.zeros((len(self.columns),) * 2)
        for (first, second), table in self.pairs.items():
            share = table / table.sum()
            alone = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
            information[first, second] = information[second, first] = float((share * np.log(share / alone)).sum())
        return information

    def rows(self, number: int, draw: Generator) -> list[Integers]:
        """Draw so many rows: the bin of each column, by the places of the columns.

        >>> columns = (np.array([6.0, 2.0]), np.array([4.0, 4.0]))
        >>> model = PairModel(columns, {(0, 1): np.array([[4.0, 2.0], [1e-9, 2.0]])})
        >>> first, second = model.rows(8000, np.random.default_rng(1))
        >>> round(first.mean(), 1), round(second[first == 1].mean(), 3)
        (np.float64(0.3), np.float64(1.0))
        """
        drawn: dict[int, Integers] = {}
        while len(drawn) < len(self.columns):
            column, parents = self._next(list(drawn))
            places = sorted((column, *parents))
            table = np.moveaxis(self.table(places), places.index(column), -1)
            given = np.zeros(number, dtype=np.int64)
            for place in sorted(parents):
                given = given * self.columns[place].size + drawn[place]
            drawn[column] = _drawn(table.reshape(-1, table.shape[-1]), given, draw)
        return [drawn[place] for place in range(len(self.columns))]

    def _next(self, before: list[int]) -> tuple[int, list[int]]:
        """Return which column is drawn next, and on which of those before it hangs: the few that tell most."""
        left = [place for place in range(len(self.columns)) if place not in before]
        if not before:
            return int(np.argmax(self.mutual_information.sum(axis=1))), []
        column = max(left, key=lambda place: float(self.mutual_information[place, before].max()))
        parents: list[int] = []
        for place in sorted(before, key=lambda place: -self.mutual_information[column, place])[:_PARENTS]:
            if prod(self.columns[index].size for index in (column, place, *parents)) <= _LARGEST:
                parents.append(place)
        return column, parents


def _drawn(tables: Floats, given: Integers, draw: Generator) -> Integers:
    """Draw a bin for each row from the counts that go with what is given."""
    rising = np.cumsum(tables, axis=1)
    rising /= rising[:, -1:]
    rising[:, -1] = 1.0
    drawn = np.empty(given.size, dtype=np.int64)
    size = max(1, _AT_ONCE // tables.shape[1])
    for start in range(0, given.size, size):
        part = given[start : start + size]
        drawn[start : start + size] = (rising[part] <= draw.random((part.size, 1))).sum(axis=1)
    return drawn


def cleaned(noisy: Sequence[Floats], deviation: float) -> tuple[Floats, ...]:
    """Return counts of columns that are above 0 and sum to one total, the mean of what they say, weighed by noise.

    >>> [table.round(3).tolist() for table in cleaned([np.array([8.0, -2.0]), np.array([5.0, 3.0])], 0.0)]
    [[7.0, 0.0], [4.5, 2.5]]
    """
    weights = [1 / table.size for table in noisy]
    total = max(1.0, float(np.average([table.sum() for table in noisy], weights=weights)))
    least = max(deviation / 16, _TINY)  # noise cannot tell such a count from 0
    raised = [np.maximum(project_onto_total(table, total), least) for table in noisy]
    return tuple(table * (total / table.sum()) for table in raised)


def independent(columns: Sequence[Floats], pair: Pair) -> Floats:
    """Return what two columns make of their pair if neither tells anything of the other."""
    first, second = pair
    return np.asarray(np.multiply.outer(columns[first], columns[second]) / columns[first].sum())


def fitted(columns: tuple[Floats, ...], noisy: Mapping[Pair, Floats], deviation: float) -> PairModel:
    """Return the model that goes with counts of columns, and noisy counts of some pairs.

    Pairs are first drawn towards independence, then towards what a third column tells.
    """
    alone = {pair: independent(columns, pair) for pair in combinations(range(len(columns)), 2)}
    first = _drawn_towards(alone, columns, noisy, deviation)
    if len(columns) < 3:
        return first
    through = {pair: np.maximum(_through(first, pair), _LEAST * alone[pair]) for pair in alone}
    return _drawn_towards(through, columns, noisy, deviation)


def _drawn_towards(
    expected: Mapping[Pair, Floats], columns: tuple[Floats, ...], noisy: Mapping[Pair, Floats], deviation: float
) -> PairModel:
    pairs = dict(expected)
    if noisy:
        shrunken = shrunk(list(noisy.values()), [expected[pair] for pair in noisy], deviation)
        pairs |= dict(zip(noisy, shrunken, strict=True))
    return PairModel(columns, {pair: _agreeing(table, columns, pair) for pair, table in pairs.items()})


def _agreeing(table: Floats, columns: Sequence[Floats], pair: Pair) -> Floats:
    """Multiply the rows and columns of a pair until they sum to what its columns hold."""
    first, second = (columns[place] for place in pair)
    table = np.maximum(table, _LEAST * np.multiply.outer(first, second) / first.sum())
    for _ in range(_SWEEPS // 4):
        table = table * (first / table.sum(axis=1))[:, None]
        table = table * (second / table.sum(axis=0))[None, :]
    return table


def _through(model: PairModel, pair: Pair) -> Floats:
    """Return what the third column that tells most of both makes of a pair."""
    first, second = pair
    both = np.minimum(model.mutual_information[first], model.mutual_information[second])
    both[[first, second]] = -1.0
    third = int(np.argmax(both))
    left = model.table((first, third)) if first < third else model.table((third, first)).T
    right = model.table((third, second)) if third < second else model.table((second, third)).T
    return np.asarray(left / model.columns[third] @ right)
