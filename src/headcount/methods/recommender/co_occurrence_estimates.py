"""Co-occurrence estimates: lifts of item pairs from noisy numbers of users who have both items.

Two popular items meet often by chance. So each number is compared with what chance would bring: if every item kept
all its meetings, but met the others at random. What is left is a symmetric table; of its eigenvalues those are
kept that noise cannot have made, lowered by what noise adds to them on average. The lift of a pair is what then
remains, as a part of what chance and noise would bring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MAX_CLEANED_ITEMS = 2048
"""Among more items than that the numbers are taken as they are: eigenvalues would take minutes."""

SIGNIFICANT_DEVIATIONS = 4
"""So many deviations are added to what chance would bring, or rare items, whose chance is next to none, would be
related to everything. Chosen on fimi-retail and msweb, confirmed on movielens-1m and hetrec-lastfm-plays."""


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """How often each pair of ``size`` items meets: the first item with all later ones, then the second, and so on.

    ``deviation`` is that of the noise of each.
    """

    counts: Numbers
    size: int
    deviation: float

    def lifts(self, at: int) -> Numbers:
        """Return the lift of one item with every item; its own is 0.

        >>> Cooccurrence(np.array([90.0, 10.0, 10.0, 10.0, 10.0, 90.0]), 4, 1.0).lifts(0).round(1).tolist()
        [0.0, 2.0, -0.6, -0.6]
        """
        lifts: Numbers = self._excess[at] / (self._chance[at] + SIGNIFICANT_DEVIATIONS * self.deviation)
        lifts[at] = 0.0
        return lifts

    @cached_property
    def _table(self) -> Numbers:
        table = np.zeros((self.size, self.size))
        table[np.triu_indices(self.size, 1)] = self.counts
        return table + table.T

    @cached_property
    def _chance(self) -> Numbers:
        """How often each pair would meet by chance."""
        meetings = np.maximum(self._table.sum(axis=1), 0.0)
        return np.outer(meetings, meetings) / max(float(meetings.sum()), 1.0)

    @cached_property
    def _excess(self) -> Numbers:
        """How much more often each pair meets, without what noise can have made."""
        excess = self._table - self._chance
        np.fill_diagonal(excess, 0.0)
        if self.size > MAX_CLEANED_ITEMS:
            return excess
        values, vectors = np.linalg.eigh(excess)
        noise = 2 * self.deviation * math.sqrt(self.size)
        lowered = (np.abs(values) + np.sqrt(np.maximum(values**2 - noise**2, 0.0))) / 2
        kept = np.where(np.abs(values) > noise, np.sign(values) * lowered, 0.0)
        cleaned: Numbers = (vectors * kept) @ vectors.T
        return cleaned

    def related(self, at: int) -> tuple[NDArray[np.int64], Numbers]:
        """Return all other items, most related first, and their lifts."""
        lifts = self.lifts(at)
        order = np.argsort(-lifts, kind="stable")
        order = order[order != at]
        return order, lifts[order]
