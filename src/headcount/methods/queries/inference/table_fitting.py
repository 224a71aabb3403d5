"""Tables fitted to noisy margins: iterative proportional fitting, and shrinkage of noisy counts.

Every fit of this package multiplies cells until they add up to given margins (:func:`scale_to_margins`). Of all
tables with these margins that agree with the start, the result has the most entropy.

:func:`fit_to_margins` fits a table that is nowhere negative to unbiased noisy cells. How far to trust a noisy
count depends on its distance from what fewer columns imply, and on its noise. So margins are taken order by order.
The fit so far expects a count m; the noisy count is t, with noise variance s². Over all counts with a similar m /
s, the squares of t - m exceed s² by what the columns really add: on average a share of m². :func:`shrink_linearly`
moves each count from m towards t as far as that share says (linear empirical Bayes).

:func:`shrink_by_factors` has the same aim for tables whose expected counts are known before, all with the same
noise. A cell holds its expected count times a factor, from next to nothing to hundreds. The distribution of the
factors is estimated from the noisy cells: first of all tables together, then of each table, with the former as a
prior worth a few cells. Factors lie on a grid of logarithms, each with a normal spread of about one grid step, so
that precise counts are not rounded to the grid. The result is the posterior mean. Laplace noise is treated as
normal noise of the same standard deviation.

Everything here is post-processing.

Reference
    W. Deming, F. Stephan. On a Least Squares Adjustment of a Sampled Frequency Table When the Expected Marginal
    Totals Are Known. Annals of Mathematical Statistics 1940.
    B. Efron, C. Morris. Data Analysis Using Stein's Estimator and its Generalizations. JASA 1975.
    H. Robbins. An Empirical Bayes Approach to Statistics. Berkeley Symposium 1956.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import prod
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.bounds.grid.contrasts import Subset
from headcount.releases.reconcile import project_onto_total

Orders = Sequence[Sequence[Subset]]
"""Margins to fit to, by their columns: those of the same number of columns together, few columns first."""

SETTLED = 1e-4
"""A fit ends when all margins together miss their targets by less than this part of the total."""

_ZERO = 1e-200  # records: a sum below this stays zero

_SWEEPS = (1, 40)  # over margins of one column, of two at most; of more columns, _SWEEPS_BEYOND
_SWEEPS_BEYOND = 4
_MAX_WORK = 1 << 29  # cells that may be multiplied in all
_LEAST_COUNT = 1e-6  # of a record: a count that is not 0
_CLASSES = 128  # of m / s, each twice the one before
_LOWEST_CLASS = -8

_LOG_STEP = 0.3
_FACTORS = np.exp(np.append(np.arange(-20, 21) * _LOG_STEP, -12.0))  # from 1/400 to 400, and next to nothing
_EM_ROUNDS = 15
_SAMPLED_CELLS = 200_000  # cells that the common prior is estimated from, evenly spread over all
_PRIOR_CELLS = 10  # cells that the common prior is worth in each table


class Margin(NamedTuple):
    """The target counts of a margin, on a grid with neighbouring columns merged if all or none belong to it.

    Sums over a merged grid are the same numbers, and quicker.
    """

    shape: tuple[int, ...]
    summed_axes: tuple[int, ...]
    counts: Floats

    @classmethod
    def over(cls, shape: tuple[int, ...], columns: Subset, counts: Floats | None = None) -> Margin:
        """Return the margin of a grid over some columns; without ``counts``, the layout alone."""
        runs = [
            (inside, prod(shape[place] for place in places))
            for inside, places in groupby(range(len(shape)), key=lambda place: place in columns)
        ]
        merged = tuple(size for _, size in runs)
        axes = tuple(axis for axis, (inside, _) in enumerate(runs) if not inside)
        kept = [1 if axis in axes else size for axis, size in enumerate(merged)]
        return cls(merged, axes, np.empty(0) if counts is None else counts.reshape(kept))

    def sums(self, cells: Floats) -> Floats:
        """Return the sums of a table that this margin asks for."""
        return np.asarray(cells.reshape(self.shape).sum(axis=self.summed_axes, keepdims=True))


def scale_to_margins(cells: Floats, margins: Sequence[Margin], sweeps: int, tolerance: float) -> Floats:
    """Return a table, multiplied margin by margin until it adds up to each one, or nearly so.

    >>> counts = {(0,): np.array([6.0, 2.0]), (1,): np.array([4.0, 4.0])}
    >>> margins = [Margin.over((2, 2), columns, counts[columns]) for columns in counts]
    >>> scale_to_margins(np.full((2, 2), 2.0), margins, 20, 1e-9).tolist()
    [[3.0, 3.0], [1.0, 1.0]]
    """
    scaled = np.array(cells, order="C")
    for _ in range(sweeps):
        distance = 0.0
        for margin in margins:
            sums = margin.sums(scaled)
            distance = max(distance, float(np.abs(margin.counts - sums).sum()))
            view = scaled.reshape(margin.shape)
            view *= np.divide(margin.counts, sums, out=np.zeros_like(sums), where=sums > _ZERO)
        if distance < tolerance:
            break
    return scaled


def positive_counts(noisy: Floats, total: float, least: float) -> Floats:
    """Return counts nearest to noisy ones that add up to a total, each at least about ``least``."""
    raised = np.maximum(project_onto_total(noisy, total), least)
    return np.asarray(raised * (total / raised.sum()))


def is_affordable(orders: Orders, cells: int) -> bool:
    """Tell whether cells can be fitted to so many margins.

    >>> is_affordable([[(0,)], [(0, 1)]], 1_000_000), is_affordable([[(0,)], [(0, 1)] * 100], 1_000_000)
    (True, False)
    """
    return cells * sum(len(tables) * _sweeps(tables) for tables in orders) <= _MAX_WORK


def fit_to_margins(estimates: Floats, variance: Callable[[Subset], float], orders: Orders, total: float) -> Floats:
    """Return cells that are nowhere negative and add up to ``total``, fitted to the margins of unbiased cells.

    ``estimates`` has an axis for every column; ``variance`` returns the noise variance of each count of a margin.
    """
    cells = np.full(estimates.shape, total / estimates.size)
    for tables in orders:
        layouts = [Margin.over(estimates.shape, columns) for columns in tables]
        noisy = [layout.sums(estimates) for layout in layouts]
        if len(tables[0]) == 1:
            shrunk = [project_onto_total(counts, total) for counts in noisy]
        else:
            expected = [layout.sums(cells) for layout in layouts]
            shrunk = shrink_linearly(noisy, expected, [variance(columns) for columns in tables])
        raised = [np.maximum(counts, _LEAST_COUNT) for counts in shrunk]
        margins = [
            layout._replace(counts=counts * (total / counts.sum()))
            for layout, counts in zip(layouts, raised, strict=True)
        ]
        cells = scale_to_margins(cells, margins, _sweeps(tables), SETTLED * total)
    return np.asarray(cells * (total / cells.sum()))


def shrink_linearly(
    noisy: Sequence[Floats], expected: Sequence[Floats], variances: Sequence[float]
) -> list[Floats]:
    """Move expected counts towards noisy counts, as far as these can be trusted.

    >>> shrink_linearly([np.array([9.0, 11.0])], [np.array([10.0, 10.0])], [4.0])[0].round(1).tolist()
    [10.0, 10.0]
    >>> shrink_linearly([np.array([90.0, 10.0])], [np.array([50.0, 50.0])], [4.0])[0].round(1).tolist()
    [89.9, 10.1]
    """
    tables = [(t, m, s2, _class_of(m, s2)) for t, m, s2 in zip(noisy, expected, variances, strict=True)]
    excess, squares = np.zeros(_CLASSES), np.zeros(_CLASSES)
    for t, m, s2, classes in tables:
        np.add.at(excess, classes, (t - m) ** 2 - s2)
        np.add.at(squares, classes, m**2)
    share = np.divide(np.maximum(excess, 0), squares, out=np.zeros(_CLASSES), where=squares > 0)
    shrunk = []
    for t, m, s2, classes in tables:
        real = share[classes] * m**2
        trust = np.divide(real, real + s2, out=np.ones_like(m), where=real + s2 > 0)
        shrunk.append(np.maximum(m + (t - m) * trust, 0.0))
    return shrunk


def shrink_by_factors(noisy: Sequence[Floats], expected: Sequence[Floats], deviation: float) -> list[Floats]:
    """Return the posterior means of tables, given their noisy counts; expected counts must be above 0.

    >>> noisy, expected = np.array([10.0, 12.0, 7.0, 9.0, 11.0, 8000.0]), np.full(6, 10.0)
    >>> [round(float(count)) for count in shrink_by_factors([noisy], [expected], 5.0)[0]]
    [9, 10, 8, 9, 10, 8000]
    """
    step = -(-sum(counts.size for counts in noisy) // _SAMPLED_CELLS)
    sampled_noisy, sampled_expected = (
        np.concatenate([counts.ravel()[::step] for counts in tables]) for tables in (noisy, expected)
    )
    sampled = _cell_posteriors(sampled_noisy, sampled_expected, deviation)
    common_prior = _estimate_prior(sampled.likelihoods, np.full(_FACTORS.size, 1.0), 0)
    means = []
    for counts, table_expected in zip(noisy, expected, strict=True):
        cells = _cell_posteriors(counts, table_expected, deviation)
        weights = _posterior_weights(
            cells.likelihoods, _estimate_prior(cells.likelihoods, common_prior, _PRIOR_CELLS)
        )
        means.append((weights * cells.means).sum(axis=1).reshape(counts.shape))
    return means


class _CellPosteriors(NamedTuple):
    """For each cell and factor: the likelihood of the noisy count, up to a constant, and the count's mean."""

    likelihoods: Floats
    means: Floats


def _cell_posteriors(noisy: Floats, expected: Floats, deviation: float) -> _CellPosteriors:
    means = expected.ravel()[:, None] * _FACTORS
    spread = (_LOG_STEP * means) ** 2
    variance = spread + max(deviation, 1e-6) ** 2
    residual = noisy.ravel()[:, None] - means
    logarithm = -(residual**2) / (2 * variance) - np.log(variance) / 2
    likelihoods = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return _CellPosteriors(likelihoods, np.maximum(means + residual * (spread / variance), 0.0))


def _estimate_prior(likelihoods: Floats, before: Floats, cells: int) -> Floats:
    """Return how frequent each factor is, by expectation and maximisation; ``before`` counts as so many cells."""
    before = before / before.sum()
    prior = before
    for _ in range(_EM_ROUNDS):
        prior = (_posterior_weights(likelihoods, prior).sum(axis=0) + cells * before) / (len(likelihoods) + cells)
    return np.asarray(prior)


def _posterior_weights(likelihoods: Floats, prior: Floats) -> Floats:
    weights = likelihoods * prior
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


def _class_of(m: Floats, s2: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        powers = np.log2(m / np.sqrt(s2)) if s2 > 0 else np.full_like(m, np.inf)
    clipped = np.clip(powers, _LOWEST_CLASS, _LOWEST_CLASS + _CLASSES - 1)
    return np.floor(clipped).astype(np.int64) - _LOWEST_CLASS


def _sweeps(tables: Sequence[Subset]) -> int:
    order = len(tables[0])
    return _SWEEPS[order - 1] if order <= len(_SWEEPS) else _SWEEPS_BEYOND
