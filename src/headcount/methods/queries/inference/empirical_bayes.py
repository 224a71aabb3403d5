"""Empirical Bayes shrinkage of noisy tables towards expected counts.

A cell holds its expected count times a factor. How often which factors come up is learnt from the noisy cells
themselves: first of all tables together, then of each table, which is taken to resemble the others by so many
cells. Factors lie on a grid of logarithms. Around each point of it they are spread as a normal is, about as far as
the next point, so that what is known well is not rounded to the grid. The count of a cell is the mean of what it
may be, given its noisy count. Cells that are expected to be far below the noise stay what they are expected to be;
cells far above it stay what they were measured to be.

Everything here looks at released numbers alone. Noise is taken to be normal with its standard deviation, which is
close enough for Laplace noise too.

:mod:`headcount.methods.queries.inference.maximum_likelihood` has the same aim for tables of a grid, order by
order, with one share for all counts that are expected to be about as large: that is quicker. Here a cell may hold
next to nothing or hundreds of times what is expected, in one table, and each is moved by what it says itself.

Reference
    H. Robbins. An Empirical Bayes Approach to Statistics. Berkeley Symposium 1956.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats

_STEP = 0.3
_FACTORS = np.exp(np.append(np.arange(-20, 21) * _STEP, -12.0))  # from 1/400 to 400, and next to nothing
_ROUNDS = 15  # of expectation and maximisation
_MOST_LEARNT = 200_000  # cells that are looked at together, evenly spread over all
_ALIKE = 10  # cells by which a table is taken to resemble the others


class _CellPosteriors(NamedTuple):
    """Of each cell and factor: how likely the noisy count is, up to a constant, and what the count is then."""

    likely: Floats
    counts: Floats


def shrunk(noisy: Sequence[Floats], expected: Sequence[Floats], deviation: float) -> list[Floats]:
    """Return what tables probably are, given their noisy counts; expected counts must be above 0.

    >>> expected = np.full(6, 10.0)
    >>> (estimates,) = shrunk([np.array([10.0, 12.0, 7.0, 9.0, 11.0, 8000.0])], [expected], 5.0)
    >>> [round(float(count)) for count in estimates]
    [9, 10, 8, 9, 10, 8000]
    """
    step = -(-sum(table_values.size for table_values in noisy) // _MOST_LEARNT)
    sampled_counts, thought = (
        np.concatenate([table_values.ravel()[::step] for table_values in tables]) for tables in (noisy, expected)
    )
    together = _learnt(_cell_posteriors(sampled_counts, thought, deviation).likely, np.full(_FACTORS.size, 1.0), 0)
    result = []
    for table, usual in zip(noisy, expected, strict=True):
        likely, counts = _cell_posteriors(table, usual, deviation)
        weights = _weights(likely, _learnt(likely, together, _ALIKE))
        result.append((weights * counts).sum(axis=1).reshape(table.shape))
    return result


def _cell_posteriors(noisy: Floats, expected: Floats, deviation: float) -> _CellPosteriors:
    means = expected.ravel()[:, None] * _FACTORS
    spread = (_STEP * means) ** 2
    variance = spread + max(deviation, 1e-6) ** 2
    apart = noisy.ravel()[:, None] - means
    logarithm = -(apart**2) / (2 * variance) - np.log(variance) / 2
    likely = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return _CellPosteriors(likely, np.maximum(means + apart * (spread / variance), 0.0))


def _learnt(likely: Floats, before: Floats, cells: int) -> Floats:
    """Return how often each factor comes up; what is known before counts as so many cells."""
    before = before / before.sum()
    often = before
    for _ in range(_ROUNDS):
        often = (_weights(likely, often).sum(axis=0) + cells * before) / (len(likely) + cells)
    return np.asarray(often)


def _weights(likely: Floats, often: Floats) -> Floats:
    weights = likely * often
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))
