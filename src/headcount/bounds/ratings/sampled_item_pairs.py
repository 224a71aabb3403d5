"""Co-occurrence counts of item pairs, from a few sampled or top-scored records of each user.

Why one user moves no more than is said
    Whatever is drawn or picked, at most l records of a user are kept, so at most l different items. Each two of
    these add 1 to one number, and no number twice: l (l - 1) / 2 ones at most, in L1 and, squared, in L2; 1 in any
    one entry. What a user keeps depends on that user's own records and draws, and on released scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bound import VectorBound
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.counts.count_bound import modes_of, sample_settings, scratch_of
from headcount.bounds.counts.keep_top_scored import KeepTopScored
from headcount.bounds.counts.sample_records import SampleRecords
from headcount.bounds.engine_interface import Passes, sum_over_histories
from headcount.bounds.ratings.kernels import PairSums, count_item_pairs
from headcount.bounds.ratings.rating_bound import ItemPairs
from headcount.events.log import EventLog


@dataclass(frozen=True, eq=False)
class SampledItemPairs(ItemPairs, VectorBound):
    """Each two different items that a user's ``kept`` records are about, once; of ``items``, which rise."""

    kept: SampleRecords | KeepTopScored
    items: Integers

    def sensitivity(self, size: int) -> Sensitivity:  # noqa: ARG002
        """Return how far one user moves the numbers of pairs."""
        return sampled_item_pairs_sensitivity(self.kept.limit)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:
        """Keep what the bound allows of each user's records, and count which two items these are about."""
        places = self.places(len(log.catalogue.ids))

        def room() -> tuple[object, ...]:
            sums = PairSums(np.zeros(self.pairs, dtype=np.int64))
            return modes_of(log), sample_settings(self.kept), scratch_of(log), places, self.items.size, sums

        return self.seal(sum_over_histories(passes, log, secret, count_item_pairs, self.pairs, room).pairs)


def sampled_item_pairs_sensitivity(limit: int) -> Sensitivity:
    """Return how far one user moves numbers of pairs if so many records are kept.

    >>> sampled_item_pairs_sensitivity(10)
    Sensitivity(l1=45, l2_squared=45, linf=1)
    """
    pairs = limit * (limit - 1) // 2
    return Sensitivity(l1=pairs, l2_squared=pairs, linf=min(pairs, 1))
