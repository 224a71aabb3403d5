"""Shrinkage: the best guess at counts behind noise, given how all the noisy counts together are spread.

Most items of a catalogue have few records, and their noisy counts are mostly noise. Empirical Bayes learns from
the noisy counts themselves how many true counts of each size there must be (a prior, by maximum likelihood over a
grid: zero, then evenly spaced logarithms), and then takes every count's posterior mean. Only released numbers and
the exact law of their noise are used.

Two noisy parts of each count (the share of light users, and that of heavy ones) are judged together: where one
says that an item is popular, the other is believed sooner. Their joint prior starts as if they had nothing to do
with each other and is improved by a few steps; more of them would follow single items.

Where a noisy count stands far above its noise, it is taken as it is.

Reference
    J. Kiefer, J. Wolfowitz. Consistency of the Maximum Likelihood Estimator in the Presence of Infinitely Many
    Incidental Parameters. Annals of Mathematical Statistics 1956. Steps: expectation-maximisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Floats
from headcount.noise_law import Law

Places = NDArray[np.int64]

# all in standard deviations of the noise
_FINE_UP_TO = 8.5  # up to here the grid of true counts is fine
_CLEAR = 6.8  # a noisy count above this is taken as it is
_FIRST = 0.045  # the smallest true count above zero
_FINE_POINTS = 80
_COARSE_RATIO = 1.12
_CELL = 0.12  # noisy counts are told apart to this
_CELL_RATIO = 1.03  # and relative to their size above the fine part
_EVEN_CELLS = round(_FINE_UP_TO / _CELL)

_STEPS_APART = 100
_STEPS_TOGETHER = 10
_SMALLEST = 1e-300


@dataclass(frozen=True)
class Posterior:
    """The best guess at each count, and an interval that holds it with the level asked for."""

    mean: Floats
    low: Floats
    high: Floats


class _NoisyPart(NamedTuple):
    """One noisy part: values in deviations, the cells they fall into, the grid, and how likely each cell is."""

    values: Floats
    cells: Places
    grid: Floats
    likelihood: Floats


def shrink(first: Floats, second: Floats, laws: tuple[Law, Law], level: float) -> tuple[Posterior, Posterior]:
    """Return what to make of two noisy parts of the same counts, with independent noise of these laws.

    >>> from headcount.noise_law import law_from_json
    >>> law = law_from_json({"law": "discrete-laplace", "scale": "1", "step": "1/100"})
    >>> noisy = np.concatenate([np.tile([-1.5, -0.5, 0.5, 1.5], 200), [40.0]])
    >>> light, _ = shrink(noisy, np.zeros(801), (law, law), 0.95)
    >>> light.mean.round(1).tolist()[-5:]
    [0.2, 0.2, 0.3, 0.6, 40.0]
    """
    deviations = tuple(law.variance**0.5 for law in laws)
    one, two = (
        _part(values / deviation, law, deviation)
        for values, law, deviation in zip((first, second), laws, deviations, strict=True)
    )
    shape = one.likelihood.shape[0], two.likelihood.shape[0]
    seen = np.bincount(one.cells * shape[1] + two.cells, minlength=shape[0] * shape[1])
    prior = _joint_prior(one.likelihood, two.likelihood, seen.reshape(shape).astype(np.float64))
    within = [law.half_width(level) / deviation for law, deviation in zip(laws, deviations, strict=True)]
    return (
        _scaled(_posterior(one, two, prior, within[0], level), deviations[0]),
        _scaled(_posterior(two, one, prior.T, within[1], level), deviations[1]),
    )


def _scaled(posterior: Posterior, by: float) -> Posterior:
    return Posterior(posterior.mean * by, posterior.low * by, posterior.high * by)


def _part(values: Floats, law: Law, deviation: float) -> _NoisyPart:
    codes = _codes(values)
    first = int(codes.min(initial=0))
    present = np.flatnonzero(np.bincount(codes - first))
    places = np.zeros(present[-1] + 1 if present.size else 1, dtype=np.int64)
    places[present] = np.arange(present.size)
    grid = _grid(float(values.max(initial=1.0)))
    logarithms = law.log_ratio((_middles(present + first)[:, None] - grid[None, :]) * deviation)
    likelihood = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return _NoisyPart(values, places[codes - first], grid, likelihood)


def _codes(values: Floats) -> Places:
    """Number the cells that noisy values fall into: even cells around zero, then growing ones.

    >>> _codes(np.array([-0.1, 0.0, 0.13, 100.0])).tolist()
    [-1, 0, 1, 154]
    """
    beyond = np.log(np.maximum(np.abs(values), _FINE_UP_TO) / _FINE_UP_TO) / np.log(_CELL_RATIO)
    near = np.clip(np.round(values / _CELL), -_EVEN_CELLS, _EVEN_CELLS)
    return np.asarray(near + np.sign(values) * np.round(beyond), dtype=np.int64)


def _middles(codes: Places) -> Floats:
    """Return the value in the middle of each cell."""
    beyond = np.maximum(np.abs(codes) - _EVEN_CELLS, 0)
    size = np.minimum(np.abs(codes), _EVEN_CELLS) * _CELL * _CELL_RATIO**beyond
    return np.asarray(np.sign(codes) * size)


def _grid(largest: float) -> Floats:
    """Return the sizes that a true count may have, from zero to somewhat above the largest noisy one."""
    fine = np.geomspace(_FIRST, _FINE_UP_TO, _FINE_POINTS)
    if largest * 1.1 <= _FINE_UP_TO:
        return np.concatenate([[0.0], fine])
    further = 2 + int(np.log(largest * 1.1 / _FINE_UP_TO) / np.log(_COARSE_RATIO))
    return np.concatenate([[0.0], fine, np.geomspace(_FINE_UP_TO, largest * 1.1, further)[1:]])


def _joint_prior(one: Floats, two: Floats, tally: Floats) -> Floats:
    """Return the share of counts of each pair of sizes: fitted apart, then improved together."""
    prior = np.outer(_prior(one, tally.sum(axis=1)), _prior(two, tally.sum(axis=0)))
    for _ in range(_STEPS_TOGETHER):
        prior *= one.T @ (tally / np.maximum(one @ prior @ two.T, _SMALLEST)) @ two / tally.sum()
    return prior


def _prior(likelihood: Floats, tally: Floats) -> Floats:
    prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_STEPS_APART):
        prior *= likelihood.T @ (tally / np.maximum(likelihood @ prior, _SMALLEST)) / tally.sum()
    return prior


def _posterior(own: _NoisyPart, other: _NoisyPart, prior: Floats, within: float, level: float) -> Posterior:
    """Return what to make of one part, in deviations, given both.

    ``within`` is how far noise alone reaches: a low end above the noisy value less that would trust the prior more
    than it deserves, since it was fitted to few large counts.
    """
    beside = prior @ other.likelihood.T
    evidence = np.maximum(own.likelihood @ beside, _SMALLEST)
    mean = (own.likelihood @ (own.grid[:, None] * beside)) / evidence
    low, high = np.zeros_like(mean), np.full_like(mean, own.grid[-1])
    below = np.zeros_like(mean)
    for at, size in enumerate(own.grid):
        before, below = below, below + np.outer(own.likelihood[:, at], beside[at]) / evidence
        low[(before < (1 - level) / 2) & (below >= (1 - level) / 2)] = size
        high[(before < (1 + level) / 2) & (below >= (1 + level) / 2)] = size
    here = own.cells, other.cells
    clear = own.values > _CLEAR
    means = np.where(clear, own.values, mean[here])
    lows = np.minimum(np.where(clear, np.inf, low[here]), np.maximum(own.values - within, 0.0))
    highs = np.where(clear, own.values + within, high[here])
    return Posterior(means, np.minimum(lows, means), np.maximum(highs, means))
