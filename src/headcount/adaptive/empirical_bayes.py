"""Empirical Bayes shrinkage: posterior means and intervals of counts behind noise of a known distribution.

Most items of a catalogue have few records, and their noisy counts are mostly noise. Empirical Bayes learns from
the noisy counts themselves how many true counts of each size there must be (a prior over a grid: zero, then evenly
spaced logarithms), and then takes every count's posterior mean. Only released numbers and the exact law of their
noise are used.

The prior starts with the mean that the noisy counts have, since noise cancels in a mean, and comes closer to what
is most likely by a few steps. Where noise hides nearly everything, the most likely prior is a few sizes that
chance picked, the more so the fewer counts there are: so few counts make few steps. Such a prior may fall faster
than noise does, and then all large counts would be taken for equal: so a few counts may be of any size.

Two noisy parts of each count (the share of light users, and that of heavy ones) are judged together: where one
says that an item is popular, the other is believed sooner. Their joint prior starts as if they had nothing to do
with each other and is improved by a few steps; more of them would follow single items.

Where a noisy count stands far above what noise makes of any of all counts, it is taken as it is.

Reference
    J. Kiefer, J. Wolfowitz. Consistency of the Maximum Likelihood Estimator in the Presence of Infinitely Many
    Incidental Parameters. Annals of Mathematical Statistics 1956. Steps: expectation-maximisation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Bytes, Floats, Integers
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.posterior import BLOCK, NoisyPair, Posterior, blocks
from headcount.adaptive.priors import PRIORS, ShrinkagePriors

Places = Integers

_STEEPEST = 500.0  # rate per deviation of the noise: of an exponential prior
_HALVINGS = 60
_FARTHEST = -30.0  # deviations: a mean below zero by more is as good as this
_SMALLEST = 1e-300


class _CellIndex(NamedTuple):
    """The place of every cell in a list of cells."""

    first: int
    places: Places

    def places_of(self, codes: Places) -> Places:
        return np.asarray(self.places[codes - self.first])


class _Cells(NamedTuple):
    """Occupied cells of one part, and how likely each is for every size on the grid."""

    numbered: _CellIndex
    middles: Floats
    grid: Floats
    likelihood: Floats


class _CellPosterior(NamedTuple):
    """The posterior of one part, in deviations: a row per cell of its own, a column per cell of the other part."""

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Posteriors of pairs of noisy counts: fitted to a group of pairs, and applied to any of them."""

    cells: tuple[_Cells, _Cells]
    cell_posteriors: tuple[_CellPosterior, _CellPosterior]
    deviation: float
    within: tuple[float, float]  # how far noise alone reaches in either part, in deviations
    clear: float  # from where on counts are not shrunk, in deviations
    priors: ShrinkagePriors

    def estimate(self, first: Floats, second: Floats) -> tuple[Posterior, Posterior]:
        """Return the posteriors of both parts."""
        values, (first_cells, second_cells) = self._placed(first, second)
        return (
            self._posterior(values[0], self.cell_posteriors[0], (first_cells, second_cells), self.within[0]),
            self._posterior(values[1], self.cell_posteriors[1], (second_cells, first_cells), self.within[1]),
        )

    def means(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Return the posterior means alone."""
        values, (first_cells, second_cells) = self._placed(first, second)
        return (
            self._means(values[0], self.cell_posteriors[0], (first_cells, second_cells)) * self.deviation,
            self._means(values[1], self.cell_posteriors[1], (second_cells, first_cells)) * self.deviation,
        )

    def _placed(self, first: Floats, second: Floats) -> tuple[tuple[Floats, Floats], tuple[Places, Places]]:
        """Return both parts in deviations, and the places of the cells that they fall into."""
        values = first / self.deviation, second / self.deviation
        first_cells, second_cells = self.cells
        return values, (
            first_cells.numbered.places_of(_encode_cells(values[0], self.priors)),
            second_cells.numbered.places_of(_encode_cells(values[1], self.priors)),
        )

    def _means(self, values: Floats, posterior: _CellPosterior, here: tuple[Places, Places]) -> Floats:
        return np.where(values > self.clear, values, posterior.mean[here])

    def _posterior(
        self, values: Floats, posterior: _CellPosterior, here: tuple[Places, Places], within: float
    ) -> Posterior:
        """Return the posterior of one part.

        A low end above the noisy value less the reach of the noise would trust the prior more than it deserves,
        since it was fitted to few large counts.
        """
        clear = values > self.clear
        means = self._means(values, posterior, here)
        lows = np.minimum(np.where(clear, np.inf, posterior.low[here]), np.maximum(values - within, 0.0))
        highs = np.where(clear, values + within, posterior.high[here])
        return Posterior(
            means * self.deviation,
            np.minimum(lows, means) * self.deviation,
            np.maximum(highs, means) * self.deviation,
        )


def fit_priors(
    pair: NoisyPair,
    distribution: NoiseDistribution,
    level: float,
    groups: Bytes,
    first: NoiseDistribution | None = None,
    priors: ShrinkagePriors = PRIORS.shrinkage,
) -> tuple[Shrinkage, ...]:
    """Fit a shrinkage to the counts of each group, given two noisy parts with independent noise.

    ``groups`` has the number of each count's group. The ``first`` part may have noise of its own, about as wide.
    True counts are multiples of its step, as noise is.

    >>> from headcount.accounting.noise_distributions import noise_distribution_from_json
    >>> distribution = noise_distribution_from_json({"law": "discrete-laplace", "scale": "1", "step": "1/100"})
    >>> noisy = np.concatenate([np.tile([-1.5, -0.5, 0.5, 1.5], 200), [40.0]])
    >>> (model,) = fit_priors(NoisyPair(noisy, np.zeros(801)), distribution, 0.95, np.zeros(801, dtype=np.uint8))
    >>> light, _ = model.estimate(noisy[-5:], np.zeros(5))
    >>> light.mean.round(1).tolist()
    [0.1, 0.1, 0.1, 0.1, 40.0]
    """
    coded = _CodedPairs(pair, distribution.variance**0.5, priors)
    occupied = _occupied_codes(coded)
    numbered = _index_codes(occupied[0]), _index_codes(occupied[1])
    number, shape = int(groups.max(initial=0)) + 1, (occupied[0].size, occupied[1].size)
    tally = np.zeros(number * shape[0] * shape[1], dtype=np.int64)
    largest = np.full((number, 2), 1.0)
    for where, values, codes in coded.blocks():
        first_cells, second_cells = (
            places.places_of(block_codes) for places, block_codes in zip(numbered, codes, strict=True)
        )
        np.add.at(tally, (groups[where] * np.int64(shape[0]) + first_cells) * shape[1] + second_cells, 1)
        for group in np.flatnonzero(np.bincount(groups[where])).tolist():
            inside = groups[where] == group
            largest[group] = np.maximum(largest[group], [block_values[inside].max() for block_values in values])
    noise_bound = distribution.half_width(1 - 1 / max(pair.size, 2)) / coded.deviation
    clear = max(priors.min_clear, noise_bound + priors.clear_margin)
    return tuple(
        _fit_shrinkage(group_tally, occupied, most, (first or distribution, distribution), level, clear, priors)
        for group_tally, most in zip(tally.reshape(number, *shape), largest, strict=True)
    )


class _CodedPairs:
    """Both parts in deviations, and the numbers of their cells, a block at a time; one block alone is kept."""

    def __init__(self, pair: NoisyPair, deviation: float, priors: ShrinkagePriors) -> None:
        self.pair, self.deviation, self.priors = pair, deviation, priors
        self._only = list(self._encode_blocks()) if pair.size <= BLOCK else None

    def blocks(self) -> Iterable[_Block]:
        """Return them from the beginning."""
        return self._encode_blocks() if self._only is None else self._only

    def _encode_blocks(self) -> Iterator[_Block]:
        for where in blocks(self.pair.size):
            first, second = (part / self.deviation for part in self.pair.part(where))
            codes = _encode_cells(first, self.priors), _encode_cells(second, self.priors)
            yield _Block(where, (first, second), codes)


class _Block(NamedTuple):
    """Where a block is, and of both parts its values and their cells."""

    where: slice
    values: tuple[Floats, Floats]
    codes: tuple[Places, Places]


def _occupied_codes(coded: _CodedPairs) -> tuple[Places, Places]:
    """Return the numbers of the cells of either part that something falls into, rising."""
    first_codes = second_codes = np.empty(0, dtype=np.int64)
    for block in coded.blocks():
        first_codes, second_codes = (
            np.unique(np.append(*code_pair))
            for code_pair in zip((first_codes, second_codes), block.codes, strict=True)
        )
    return first_codes, second_codes


def _index_codes(codes: Places) -> _CellIndex:
    first, last = int(codes[0]), int(codes[-1])
    places = np.zeros(last - first + 1, dtype=np.int64)
    places[codes - first] = np.arange(codes.size)
    return _CellIndex(first, places)


def _fit_shrinkage(
    tally: Places,
    occupied: tuple[Places, Places],
    largest: Floats,
    distributions: tuple[NoiseDistribution, NoiseDistribution],
    level: float,
    clear: float,
    priors: ShrinkagePriors,
) -> Shrinkage:
    """Fit a shrinkage to pairs of which so many fell into each pair of occupied cells."""
    deviation = distributions[1].variance ** 0.5
    present = [np.flatnonzero(tally.sum(axis=axis)) for axis in (1, 0)]
    first_cells, second_cells = (
        _cells(
            codes[inside],
            _grid(most, float(distribution.step) / deviation, priors),
            distribution,
            deviation,
            priors,
        )
        for codes, inside, most, distribution in zip(
            occupied, present, largest.tolist(), distributions, strict=True
        )
    )
    prior = _joint_prior(first_cells, second_cells, tally[present[0]][:, present[1]].astype(np.float64), priors)
    posteriors = (
        _cell_posterior(first_cells, second_cells, prior, level, priors),
        _cell_posterior(second_cells, first_cells, prior.T, level, priors),
    )
    own, other = (distribution.half_width(level) / deviation for distribution in distributions)
    return Shrinkage((first_cells, second_cells), posteriors, deviation, (own, other), clear, priors)


def _cells(
    codes: Places, grid: Floats, distribution: NoiseDistribution, deviation: float, priors: ShrinkagePriors
) -> _Cells:
    middles = _middles(codes, priors)
    logarithms = distribution.log_ratio((middles[:, None] - grid[None, :]) * deviation)
    likelihood = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return _Cells(_index_codes(codes), middles, grid, likelihood)


def _encode_cells(values: Floats, priors: ShrinkagePriors = PRIORS.shrinkage) -> Places:
    """Number the cells that noisy values fall into: even cells around zero, then growing ones.

    >>> _encode_cells(np.array([-0.1, 0.0, 0.13, 100.0])).tolist()
    [-1, 0, 1, 154]
    """
    fine, cells = priors.fine_up_to, priors.fine_cells
    beyond = np.log(np.maximum(np.abs(values), fine) / fine) / np.log(priors.cell_ratio)
    near = np.minimum(np.maximum(np.rint(values / priors.cell), -cells), cells)
    return np.asarray(near + np.sign(values) * np.rint(beyond), dtype=np.int64)


def _middles(codes: Places, priors: ShrinkagePriors) -> Floats:
    """Return the value in the middle of each cell."""
    beyond = np.maximum(np.abs(codes) - priors.fine_cells, 0)
    size = np.minimum(np.abs(codes), priors.fine_cells) * priors.cell * priors.cell_ratio**beyond
    return np.asarray(np.sign(codes) * size)


def _grid(largest: float, step: float, priors: ShrinkagePriors = PRIORS.shrinkage) -> Floats:
    """Return the sizes that a true count may have, from zero to somewhat above the largest noisy one.

    They are multiples of a step, where noise lets them be distinguished.

    >>> _grid(2.0, 2.0).tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    continuous = step < priors.min_discrete_step
    fine = priors.fine_grid if continuous else np.arange(0.0, max(priors.fine_up_to, 1.5 * step), step)
    if largest * 1.1 <= fine[-1]:
        return fine
    further = 2 + int(np.log(largest * 1.1 / fine[-1]) / np.log(priors.coarse_ratio))
    coarse = np.geomspace(fine[-1], largest * 1.1, further)[1:]
    return np.concatenate([fine, coarse if continuous else np.unique(np.ceil(coarse / step)) * step])


def _joint_prior(
    first: _Cells, second: _Cells, tally: Floats, priors: ShrinkagePriors = PRIORS.shrinkage
) -> Floats:
    """Return the share of counts of each pair of sizes: fitted apart, then improved together."""
    prior = np.outer(_prior(first, tally.sum(axis=1), priors), _prior(second, tally.sum(axis=0), priors))
    number = tally.sum()
    for _ in range(priors.joint_steps):
        evidence = first.likelihood.dot(prior).dot(second.likelihood.T)
        prior *= first.likelihood.T.dot(tally / np.maximum(evidence, _SMALLEST)).dot(second.likelihood) / number
    return np.asarray((1 - priors.uniform_weight) * prior + priors.uniform_weight / prior.size)


def _prior(cells: _Cells, tally: Floats, priors: ShrinkagePriors) -> Floats:
    """Return the share of counts of each size, where so many fell into each cell."""
    number, likelihood, transposed = tally.sum(), cells.likelihood, cells.likelihood.T
    prior = _exponential_prior(
        cells.grid, _truncated_mean(float(cells.middles @ tally / number), float(number) ** -0.5)
    )
    # on a few numbers, method calls take a third less time than operators
    steps = int(np.clip(number / priors.counts_per_step, priors.min_steps, priors.max_steps))
    for _ in range(steps):
        prior *= transposed.dot(tally / np.maximum(likelihood.dot(prior), _SMALLEST)) / number
    return prior


def _truncated_mean(mean: float, deviation: float) -> float:
    """Return what to expect of a number that is not negative and was measured with normal noise.

    >>> [round(_truncated_mean(mean, 1.0), 3) for mean in (5.0, 0.0, -5.0)]
    [5.0, 0.798, 0.187]
    """
    far = max(mean / deviation, _FARTHEST)
    density, chance = math.exp(-(far**2) / 2) / math.sqrt(2 * math.pi), math.erfc(-far / math.sqrt(2)) / 2
    return deviation * (far + density / chance)


def _exponential_prior(grid: Floats, mean: float) -> Floats:
    """Return shares of sizes that fall or rise exponentially, with that mean or the nearest there is.

    >>> _exponential_prior(np.array([0.0, 1.0, 2.0]), 0.6).round(3).tolist()
    [0.554, 0.292, 0.154]
    """

    def falling(rate: float) -> Floats:
        logarithms = -rate * grid
        shares = np.exp(logarithms - logarithms.max())
        return np.asarray(shares / shares.sum())

    rates = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        middle = sum(rates) / 2
        rates = (middle, rates[1]) if float(falling(middle) @ grid) > mean else (rates[0], middle)
    return falling(sum(rates) / 2)


def _cell_posterior(
    own: _Cells, other: _Cells, prior: Floats, level: float, priors: ShrinkagePriors = PRIORS.shrinkage
) -> _CellPosterior:
    """Return the posterior of one part in each pair of cells, in deviations.

    A size on the grid stands for all sizes down to the one before, so an interval ends there. Noise does not
    distinguish the smallest sizes from zero.
    """
    beside = prior @ other.likelihood.T
    evidence = np.maximum(own.likelihood @ beside, _SMALLEST)
    mean = (own.likelihood @ (own.grid[:, None] * beside)) / evidence
    low, high = np.empty_like(mean), np.empty_like(mean)
    lows = np.concatenate([[0.0], own.grid[:-1], [0.0]])  # where nothing adds up to a share, anything may be
    highs = np.append(own.grid, own.grid[-1])
    for rows in blocks(len(mean), max(1, BLOCK // beside.size)):
        below = (own.likelihood[rows].T[:, :, None] * beside[:, None, :] / evidence[rows]).cumsum(axis=0)
        low[rows] = lows[(below < (1 - level) / 2).sum(axis=0)]
        high[rows] = highs[(below < (1 + level) / 2).sum(axis=0)]
    low[low < priors.negligible_count] = 0.0
    return _CellPosterior(mean, low, high)
