"""A non-negative table fitted to noisy marginals by penalised maximum likelihood.

Where a noisy count is to be believed hangs on how far it is from what fewer columns tell, and on its noise. So
tables are taken order by order. What the fit so far expects of a count, m, is compared with the noisy count t, of
noise variance s². Over all counts with about the same m / s, the squares of t - m are more than s² by what the
columns really tell together: on average some share of m². Each count is moved from m towards t as far as that
share says (empirical Bayes, linear). Cells are then multiplied until they add up to these counts, and the next
order is looked at. All of it is post-processing.

:mod:`headcount.methods.queries.inference.empirical_bayes` has the same aim for tables whose expected counts are
known before, all with the same noise. Here each table has a noise of its own, and what is expected follows from
the fit so far: one share of m² takes a pass an order, where a law of factors would be learnt anew at each.

Reference
    B. Efron, C. Morris. Data Analysis Using Stein's Estimator and its Generalizations. JASA 1975.
    W. Deming, F. Stephan. On a Least Squares Adjustment of a Sampled Frequency Table When the Expected Marginal
    Totals Are Known. Annals of Mathematical Statistics 1940.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import prod
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.bounds import Subset
from headcount.releases.reconcile import project_onto_total

Orders = Sequence[Sequence[Subset]]
"""Tables to fit to, those of the same number of columns together, few columns first."""

_SWEEPS = (1, 40)  # over tables of one column, of two at most; of more, _LATER
_LATER = 4
_SETTLED = 1e-4  # of the total, that all tables of an order are missed by
_WORK = 1 << 29  # cells that may be multiplied in all
_NOTHING = 1e-200  # records: what is less stays nothing
_LEAST = 1e-6  # of a record: a count that is not 0
_CLASSES = 128  # of m / s, each twice the one before
_LOWEST = -8


def affordable(orders: Orders, cells: int) -> bool:
    """Say whether cells can be fitted to so many tables.

    >>> affordable([[(0,)], [(0, 1)]], 1_000_000), affordable([[(0,)], [(0, 1)] * 100], 1_000_000)
    (True, False)
    """
    return cells * sum(len(tables) * _sweeps(tables) for tables in orders) <= _WORK


def fitted_to(estimates: Floats, noise: Callable[[Subset], float], orders: Orders, total: float) -> Floats:
    """Return cells that are not negative and add up to ``total``, fitted to the tables of unbiased ones.

    ``estimates`` has an axis for every column; ``noise`` tells the variance of each count of a table.
    """
    cells = np.full(estimates.shape, total / estimates.size)
    for tables in orders:
        merged = [_merged(estimates.shape, columns) for columns in tables]
        counts = [estimates.reshape(table.shape).sum(axis=table.others, keepdims=True) for table in merged]
        if len(tables[0]) == 1:
            wanted = [project_onto_total(table, total) for table in counts]
        else:
            expected = [cells.reshape(table.shape).sum(axis=table.others, keepdims=True) for table in merged]
            wanted = shrunk(counts, expected, [noise(columns) for columns in tables])
        aims = [np.maximum(table, _LEAST) for table in wanted]
        _multiply(
            cells, merged, [table * (total / table.sum()) for table in aims], _sweeps(tables), _SETTLED * total
        )
    return np.asarray(cells * (total / cells.sum()))


def _multiply(cells: Floats, merged: Sequence[_Merged], aims: Sequence[Floats], sweeps: int, near: float) -> None:
    """Multiply cells, in place, until they add up to each table, or nearly so."""
    for _ in range(sweeps):
        furthest = 0.0
        for table, aim in zip(merged, aims, strict=True):
            view = cells.reshape(table.shape)
            sums = view.sum(axis=table.others, keepdims=True)
            furthest = max(furthest, float(np.abs(aim - sums).sum()))
            view *= np.divide(aim, sums, out=np.zeros_like(sums), where=sums > _NOTHING)
        if furthest < near:
            break


def shrunk(estimates: Sequence[Floats], expected: Sequence[Floats], noise: Sequence[float]) -> list[Floats]:
    """Move what is expected of counts towards noisy counts, as far as these are to be believed.

    >>> [table.round(1).tolist() for table in shrunk([np.array([9.0, 11.0])], [np.array([10.0, 10.0])], [4.0])]
    [[10.0, 10.0]]
    >>> [table.round(1).tolist() for table in shrunk([np.array([90.0, 10.0])], [np.array([50.0, 50.0])], [4.0])]
    [[89.9, 10.1]]
    """
    tables = [(t, m, s2, _class_of(m, s2)) for t, m, s2 in zip(estimates, expected, noise, strict=True)]
    excess, squares = np.zeros(_CLASSES), np.zeros(_CLASSES)
    for t, m, s2, where in tables:
        np.add.at(excess, where, (t - m) ** 2 - s2)
        np.add.at(squares, where, m**2)
    share = np.divide(np.maximum(excess, 0), squares, out=np.zeros(_CLASSES), where=squares > 0)
    moved = []
    for t, m, s2, where in tables:
        real = share[where] * m**2
        moved.append(
            np.maximum(m + (t - m) * np.divide(real, real + s2, out=np.ones_like(m), where=real + s2 > 0), 0.0)
        )
    return moved


def _class_of(m: Floats, s2: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        powers = np.log2(m / np.sqrt(s2)) if s2 > 0 else np.full_like(m, np.inf)
    return np.floor(np.clip(powers, _LOWEST, _LOWEST + _CLASSES - 1)).astype(np.int64) - _LOWEST


def _sweeps(tables: Sequence[Subset]) -> int:
    order = len(tables[0])
    return _SWEEPS[order - 1] if order <= len(_SWEEPS) else _LATER


class _Merged(NamedTuple):
    """A grid with neighbouring columns made one where all or none of them are in a table: sums are quicker so."""

    shape: tuple[int, ...]
    others: tuple[int, ...]


def _merged(shape: tuple[int, ...], columns: Subset) -> _Merged:
    runs = [
        (inside, prod(shape[place] for place in places))
        for inside, places in groupby(range(len(shape)), key=lambda place: place in columns)
    ]
    return _Merged(tuple(size for _, size in runs), tuple(at for at, (inside, _) in enumerate(runs) if not inside))
