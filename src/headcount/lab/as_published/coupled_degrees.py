"""Δ, the matrix of coupled degrees between records (thesis, chapter 5), and sensitivities from it.

Δ is symmetric, has ones on its diagonal, and holds nothing between 0 and a threshold δ₀ (the four properties below
equation 5.2.1). So it is kept as a list of pairs, each once. A degree may be negative, as a coefficient of
correlation is; sensitivities take its absolute value.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014; definitions 12 to 14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headcount._internal.arrays import Flags, Floats, Integers
from headcount._internal.extras import require_package
from headcount.errors import UsageError, param

MOST_PAIRS = 10_000_000
"""How many pairs are held; in a larger matrix nearly everybody is coupled to everybody."""

_BLOCK = 512
_ROUNDING = 1e-6  # coefficients are worked out in single precision


@dataclass(frozen=True)
class CoupledDegrees:
    """The degrees of so many records: pairs ``first`` < ``second``, each once; whoever is in none is alone.

    >>> degrees = CoupledDegrees(3, np.array([0]), np.array([1]), np.array([-0.8]))
    >>> degrees.record_sensitivities.tolist()
    [1.8, 1.8, 1.0]
    """

    size: int
    first: Integers
    second: Integers
    degrees: Floats

    @classmethod
    def alone(cls, size: int) -> CoupledDegrees:
        """Couple nobody: a table of independent records."""
        none = np.empty(0, dtype=np.int64)
        return cls(size, none, none, np.empty(0))

    @classmethod
    def of_groups(cls, groups: Integers) -> CoupledDegrees:
        """Couple fully all records of a group; those in group -1 are alone.

        >>> degrees = CoupledDegrees.of_groups(np.array([4, -1, 4, 4]))
        >>> list(zip(degrees.first.tolist(), degrees.second.tolist()))
        [(0, 2), (2, 3), (0, 3)]
        """
        _, sizes = np.unique(groups[groups >= 0], return_counts=True)
        _check_pairs(int((sizes * (sizes - 1) // 2).sum()))
        order = np.argsort(groups, kind="stable")
        order = order[groups[order] >= 0]
        parts = [np.empty((2, 0), dtype=np.int64)]
        for apart in range(1, int(sizes.max(initial=1))):
            same = groups[order[:-apart]] == groups[order[apart:]]
            parts.append(np.stack([order[:-apart][same], order[apart:][same]]))
        first, second = np.concatenate(parts, axis=1)
        return cls(groups.size, first, second, np.ones(first.size))

    @classmethod
    def of_pearson(cls, attributes: Floats, delta0: float) -> CoupledDegrees:
        """Couple records whose attributes are correlated by δ₀ or more, either way; constant ones with none.

        >>> rows = np.array([[1.0, 2, 3], [2, 4, 6], [3, 2, 1], [1, 5, 1], [7, 7, 7]])
        >>> CoupledDegrees.of_pearson(rows, 0.6).degrees.round(6).tolist()
        [1.0, -1.0, -1.0]
        """
        parts = [np.empty((3, 0))]
        held = 0
        for start, block in pearson_blocks(attributes):
            rows, columns = np.nonzero(np.abs(block) >= delta0 - _ROUNDING)
            above = columns > rows + start
            rows, columns = rows[above], columns[above]
            held += rows.size
            _check_pairs(held)
            parts.append(np.stack([rows + start, columns, np.clip(block[rows, columns], -1, 1)]))
        first, second, degrees = np.concatenate(parts, axis=1)
        return cls(len(attributes), first.astype(np.int64), second.astype(np.int64), degrees)

    def __post_init__(self) -> None:
        if not (self.first < self.second).all() or self.second.max(initial=-1) >= self.size:
            raise ValueError("each pair is named once, the smaller record first")

    @property
    def others(self) -> Integers:
        """How many others each record is coupled to."""
        both = np.concatenate([self.first, self.second])
        return np.bincount(both, minlength=self.size).astype(np.int64)

    @property
    def record_sensitivities(self) -> Floats:
        """CSᵢ of definition 13 for a query that counts everyone, which is the most it can be."""
        both, twice = np.concatenate([self.first, self.second]), np.tile(np.abs(self.degrees), 2)
        return np.asarray(1 + np.bincount(both, weights=twice, minlength=self.size))

    def coupled_sensitivities(self, rows: Flags, places: Integers) -> Floats:
        """CS_q of definition 14, in records: a query a row of cells, and ``places`` the cell of each record.

        Whether one record is there moves a query by 1 if it is counted, and by 0 if not: so CSᵢ is the sum of
        |δᵢⱼ| over the records j that are counted, and CS_q the largest of those that are. A query that counts
        nobody has 1.

        >>> degrees = CoupledDegrees(3, np.array([0, 0]), np.array([1, 2]), np.array([0.75, -1.0]))
        >>> rows = np.array([[True, True, True], [False, True, True], [True, True, False]])
        >>> degrees.coupled_sensitivities(rows, np.array([0, 1, 2])).tolist()
        [2.75, 1.0, 1.75]
        """
        members, matrix = self._coupled
        sensitivities = np.ones(len(rows))
        for at in _blocks(len(rows)):
            counted = rows[at][:, places[members]].T
            sums = np.where(counted, matrix @ counted.astype(np.float64), 1.0)
            sensitivities[at] = sums.max(axis=0, initial=1.0)
        return sensitivities

    @cached_property
    def _coupled(self) -> tuple[Integers, Any]:
        """The records that are coupled to others, and the part of |Δ| that is about them."""
        with require_package("the table of degrees", "scipy", "lab"):
            from scipy.sparse import coo_array

        members, both = np.unique(np.concatenate([self.first, self.second]), return_inverse=True)
        left, right = both.reshape(2, -1)
        diagonal = np.arange(members.size)
        rows, columns = np.concatenate([left, right, diagonal]), np.concatenate([right, left, diagonal])
        degrees = np.concatenate([np.tile(np.abs(self.degrees), 2), np.ones(members.size)])
        return members, coo_array((degrees, (rows, columns)), shape=(members.size, members.size)).tocsr()


def pearson_blocks(attributes: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield Pearson's coefficients of all records with all, some rows at a time, and where these start."""
    centred = attributes - attributes.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    turned = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 0).astype(np.float32)
    for at in _blocks(len(turned)):
        yield at.start, turned[at] @ turned.T


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))


def _check_pairs(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise UsageError(
            f"these couplings are of {pairs:,} or more pairs of records, and at most {MOST_PAIRS:,} are held",
            remedy=f"raise delta0, couple by a finer attribute or interval, or take a part of the table "
            f"({param.where})",
        )
