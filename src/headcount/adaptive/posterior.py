"""Noisy pairs of counts, their posteriors (mean and interval), and blocks of long tables.

Empirical Bayes turns the first into the second (:mod:`headcount.adaptive.empirical_bayes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.noise_distributions import DiscreteLaplace, NoiseDistribution
from headcount.adaptive.priors import NORMAL_95

BLOCK = 1 << 15
"""Cells of long tables that are processed at once, so that memory follows the block and not the table."""


def blocks(size: int, block_size: int = BLOCK) -> Iterator[slice]:
    """Cut so many places into blocks; the last one may be shorter.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, size, block_size):
        yield slice(start, min(start + block_size, size))


def laplace_scale(distribution: NoiseDistribution) -> float:
    """Return the scale of the Laplace noise that is as wide."""
    if isinstance(distribution, DiscreteLaplace):
        return float(distribution.scale)
    return float((distribution.variance / 2) ** 0.5)


@dataclass(frozen=True, eq=False)
class NoisyPair:
    """Two noisy parts of the same counts, in whole steps of their noise (or as they are).

    >>> pair = NoisyPair(np.array([1, 2, 3]), np.array([4, 5, 6]), 0.5)
    >>> [part.tolist() for part in pair.part(slice(0, 2))]
    [[0.5, 1.0], [2.0, 2.5]]
    """

    first: Floats | Integers
    second: Floats | Integers
    step: float = 1.0

    @property
    def size(self) -> int:
        """How many counts there are."""
        return int(self.first.size)

    def part(self, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return both parts of some counts."""
        return np.asarray(self.first[where] * self.step), np.asarray(self.second[where] * self.step)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The mean of each count, and an interval that holds it with the requested level."""

    mean: Floats
    low: Floats
    high: Floats

    @classmethod
    def empty(cls, shape: int | tuple[int, ...]) -> Posterior:
        """Return room for so many counts."""
        return cls(np.empty(shape), np.empty(shape), np.empty(shape))

    def __getitem__(self, where: Any, /) -> Posterior:
        """Return some of the counts."""
        return Posterior(self.mean[where], self.low[where], self.high[where])

    def __setitem__(self, where: Any, part: Posterior, /) -> None:
        """Replace some of the counts."""
        self.mean[where], self.low[where], self.high[where] = part.mean, part.low, part.high

    def reshape(self, shape: tuple[int, ...]) -> Posterior:
        """Return the same counts as a table of another shape."""
        return Posterior(self.mean.reshape(shape), self.low.reshape(shape), self.high.reshape(shape))

    def replace(self, where: Any, part: Posterior) -> Posterior:
        """Return a copy with some counts replaced."""
        combined = Posterior(self.mean.copy(), self.low.copy(), self.high.copy())
        combined[where] = part
        return combined

    def no_more_than(self, maximum: float) -> Posterior:
        """Return the same where no count can be more; upper ends of intervals are left as they are."""
        return Posterior(np.minimum(self.mean, maximum), np.minimum(self.low, maximum), self.high)

    @property
    def relative_variance(self) -> Floats:
        """How uncertain each is, relatively."""
        return relative_variance(self.mean, self.high - self.low)


def relative_variance(mean: Floats, width: Floats) -> Floats:
    """Return the relative variances of counts with 95 % intervals of these widths; that of a zero is 0.

    >>> relative_variance(np.array([10.0, 0.0]), np.array([3.92, 4.0])).round(4).tolist()
    [0.01, 0.0]
    """
    relative = np.divide(width / (2 * NORMAL_95), mean, out=np.zeros_like(mean), where=mean > 0)
    return np.asarray(relative**2)
