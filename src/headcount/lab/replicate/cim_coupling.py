"""Record couplings in the CIM experiments: by Pearson's coefficient, and random ones as in the thesis.

The thesis declares none, and says of those that it found by Pearson's coefficient only how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.lab.as_published.queries.coupled_degrees import CoupledDegrees, pearson_blocks


@dataclass(frozen=True)
class Couplings:
    """How many others each record is coupled to."""

    others: Integers

    @property
    def share(self) -> float:
        """Which share of the records is coupled to another one."""
        return float((self.others > 0).mean())

    @property
    def largest(self) -> int:
        """How many records are in the largest group: one and those it is coupled to."""
        return int(self.others.max(initial=0)) + 1


def by_pearson(attributes: Floats, delta0: float = 0.6) -> Couplings:
    """Count records whose attributes are correlated by δ₀ or more, either way; all pairs would fill the memory.

    >>> by_pearson(np.array([[1.0, 2, 3], [2, 4, 6], [1, 5, 1], [7, 7, 7]])).others.tolist()
    [1, 1, 0, 0]
    """
    others = [np.empty(0, dtype=np.int64)]
    for start, block in pearson_blocks(attributes):
        rows = np.arange(len(block))
        block[rows, start + rows] = 0  # itself
        others.append(np.count_nonzero(np.abs(block) >= delta0 - 1e-6, axis=1))
    return Couplings(np.concatenate(others))


def declared(size: int, largest: int, draw: np.random.Generator, delta0: float = 0.6) -> CoupledDegrees:
    """Couple a quarter of all records at random, in groups of 2 to ``largest``, each pair by δ₀ to 1."""
    coupled = draw.permutation(size)[: size // 4]
    groups = np.full(size, -1, dtype=np.int64)
    sizes = [largest, *draw.integers(2, largest + 1, coupled.size)]
    groups[coupled] = np.repeat(np.arange(len(sizes)), sizes)[: coupled.size]
    fully = CoupledDegrees.of_groups(groups)
    return CoupledDegrees(size, fully.first, fully.second, draw.uniform(delta0, 1, fully.first.size))
