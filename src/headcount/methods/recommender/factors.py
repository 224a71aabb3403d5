"""Factors of noisy item tables: eigenvalues above the noise, similar items, and lifts of co-occurring items.

The largest eigenvalue of a symmetric table of pure noise among m items is 2 · deviation · √m. Eigenvalues within
that are dropped; the others are lowered by what noise adds to them on average (Gavish and Donoho).

An eigenvector is as good as its opposite, and a library's choice depends on the processor. Here the largest part
of each is positive, so that the same noise gives the same release on every machine.

Reference
    M. Gavish, D. Donoho. Optimal Shrinkage of Singular Values. IEEE Transactions on Information Theory, 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats, Integers

MAX_CLEANED_ITEMS = 2048
"""Among more items the co-occurrence counts are taken as they are: eigenvalues would take minutes."""

SIGNIFICANT_DEVIATIONS = 4
"""Deviations added to the expected co-occurrence. Without them rare items, which are expected to co-occur with
next to nothing, would be related to everything. Chosen on fimi-retail and msweb, confirmed on movielens-1m and
hetrec-lastfm-plays."""


class Eigenpairs(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    values: Floats
    vectors: Floats


def signed_eigenvectors(table: Floats) -> Eigenpairs:
    """Return eigenvalues in rising order, and eigenvectors as columns: the largest part of each is positive.

    >>> values, vectors = signed_eigenvectors(np.array([[2.0, -1.0], [-1.0, 1.0]]))
    >>> values.round(3).tolist(), vectors.round(3).tolist()
    ([0.382, 2.618], [[0.526, 0.851], [0.851, -0.526]])
    """
    values, vectors = np.linalg.eigh(table)
    if not vectors.size:
        return Eigenpairs(values, vectors)
    largest = np.abs(vectors).argmax(axis=0)
    return Eigenpairs(values, vectors * np.sign(vectors[largest, np.arange(values.size)]))


def significant_eigenpairs(table: Floats, deviation: float) -> Eigenpairs:
    """Return the eigenpairs of a noisy table above the noise, largest first, with the values lowered."""
    values, vectors = signed_eigenvectors(table)
    noise = 2 * deviation * math.sqrt(len(table))
    kept = np.flatnonzero(values > noise)[::-1]
    return Eigenpairs((values[kept] + np.sqrt(values[kept] ** 2 - noise**2)) / 2, vectors[:, kept])


def symmetric_table(pairs: Floats, size: int) -> Floats:
    """Return the table of all pairs of items: the first item with all later ones, then the second, and so on."""
    table = np.zeros((size, size))
    table[np.triu_indices(size, 1)] = pairs
    return np.asarray(table + table.T)


def most_similar(places: Integers, factors: Floats, item: int) -> tuple[Integers, Floats]:
    """Return the items by the cosine of their factors with those of one item, largest first, and the cosines.

    There are none where the item has no factors.

    >>> most_similar(np.array([3, 5, 9]), np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), 3)[0].tolist()
    [9, 5]
    """
    rows = np.flatnonzero(places == item)
    lengths = np.linalg.norm(factors, axis=1)
    if not factors.size or not rows.size or lengths[rows[0]] == 0:
        return np.empty(0, dtype=np.int64), np.empty(0)
    row = int(rows[0])
    with np.errstate(invalid="ignore"):
        cosines = np.nan_to_num(factors @ factors[row] / (lengths * lengths[row]))
    order = np.argsort(-cosines, kind="stable")
    order = order[order != row]
    return places[order], cosines[order]


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Noisy co-occurrence counts of all pairs of ``size`` items, as in :func:`symmetric_table`, and their lifts.

    Two popular items often co-occur by chance. So each count is compared with the one expected if every item kept
    its co-occurrences, but with random others. From the excess, eigenvalues within the noise are removed. The lift
    of a pair is its excess over the expected count and the noise.
    """

    counts: Floats
    size: int
    deviation: float

    def lifts(self, item: int) -> Floats:
        """Return the lift of one item with every item; its own is 0.

        >>> Cooccurrence(np.array([90.0, 10.0, 10.0, 10.0, 10.0, 90.0]), 4, 1.0).lifts(0).round(1).tolist()
        [0.0, 2.0, -0.6, -0.6]
        """
        lifts: Floats = self._excess[item] / (self._expected[item] + SIGNIFICANT_DEVIATIONS * self.deviation)
        lifts[item] = 0.0
        return lifts

    @cached_property
    def _table(self) -> Floats:
        return symmetric_table(self.counts, self.size)

    @cached_property
    def _expected(self) -> Floats:
        """The count of each pair that is expected by chance."""
        totals = np.maximum(self._table.sum(axis=1), 0.0)
        return np.outer(totals, totals) / max(float(totals.sum()), 1.0)

    @cached_property
    def _excess(self) -> Floats:
        """The excess of each pair, without what noise can explain."""
        excess = self._table - self._expected
        np.fill_diagonal(excess, 0.0)
        if self.size > MAX_CLEANED_ITEMS:
            return excess
        values, vectors = np.linalg.eigh(excess)
        noise = 2 * self.deviation * math.sqrt(self.size)
        lowered = (np.abs(values) + np.sqrt(np.maximum(values**2 - noise**2, 0.0))) / 2
        kept = np.where(np.abs(values) > noise, np.sign(values) * lowered, 0.0)
        return np.asarray((vectors * kept) @ vectors.T)

    def related(self, item: int) -> tuple[Integers, Floats]:
        """Return all other items, largest lift first, and their lifts."""
        lifts = self.lifts(item)
        order = np.argsort(-lifts, kind="stable")
        order = order[order != item]
        return order, lifts[order]
