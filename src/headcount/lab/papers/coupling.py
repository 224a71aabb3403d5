"""Coupled degrees, as the thesis on CIM finds them: declared, or by Pearson's coefficient.

A coupling says how strongly records hang together: groups that everyone is fully coupled in, or for each record
the sum of its degrees of at least δ₀. All of it is read from the private data, which is part of why CIM is not
private.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.arrays import Floats, Integers
from headcount.lab.published.cim import CoupledRecords

_BLOCK = 512


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
    """Couple records whose attributes are correlated by δ₀ or more, either way; constant ones with none.

    >>> by_pearson(np.array([[1.0, 2, 3], [2, 4, 6], [1, 5, 1], [7, 7, 7]])).others.tolist()
    [1, 1, 0, 0]
    """
    centred = attributes - attributes.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    turned = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 0).astype(np.float32)
    others = np.zeros(len(turned), dtype=np.int64)
    for first in range(0, len(turned), _BLOCK):
        degrees = np.abs(turned[first : first + _BLOCK] @ turned.T)
        rows = np.arange(degrees.shape[0])
        degrees[rows, first + rows] = 0  # itself
        others[first : first + _BLOCK] = np.count_nonzero(degrees >= delta0 - 1e-6, axis=1)
    return Couplings(others)


def declared(
    places: Integers, cells: int, largest: int, draw: np.random.Generator, delta0: float = 0.6
) -> CoupledRecords:
    """Couple a quarter of all records at random, in groups of 2 to ``largest``, by degrees between δ₀ and 1.

    This is what the thesis says of the couplings it found.
    """
    coupled = draw.permutation(places.size)[: places.size // 4]
    groups = np.full(places.size, -1, dtype=np.int64)
    sizes = [largest, *draw.integers(2, largest + 1, coupled.size)]
    numbers = np.repeat(np.arange(len(sizes)), sizes)[: coupled.size]
    groups[coupled] = numbers
    degrees = np.ones(places.size)
    degrees[coupled] = draw.uniform(delta0, 1, coupled.size)
    made = CoupledRecords.coupled(places, groups, cells)
    return CoupledRecords(made.places, made.groups, cells, degrees)
