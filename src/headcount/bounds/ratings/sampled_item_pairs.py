"""Co-occurrence counts of item pairs, from a few sampled or top-scored records of each user.

Why one person moves no more than is said
    Whatever is drawn or picked, at most l records of a person are kept, so at most l different items. Each two of
    these add 1 to one number, and no number twice: l (l - 1) / 2 ones at most, in L1 and, squared, in L2; 1 in any
    one entry. What a person keeps hangs on that person's own records and draws, and on released scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.counts.keep_top_scored import KeepTopScored
from headcount.bounds.counts.sample_records import SampleRecords
from headcount.bounds.ratings.rating_bounds import check_places, positions_in_list


@dataclass(frozen=True, eq=False)
class SampledItemPairs(Bound[Bounded]):
    """Each two different items that a person's ``kept`` records are about, once; of ``items``, which rise."""

    kept: SampleRecords | KeepTopScored
    items: Integers

    def __post_init__(self) -> None:
        check_places(self.items)

    @property
    def pairs(self) -> int:
        """How many pairs of items there are."""
        return self.items.size * (self.items.size - 1) // 2

    def places(self, items: int) -> NDArray[np.int32]:
        """Return the place of each item of the catalogue among those whose pairs are counted, -1 for others."""
        return positions_in_list(self.items, items)


def sampled_item_pairs_sensitivity(limit: int) -> Sensitivity:
    """Return how far one person moves numbers of pairs if so many records are kept.

    >>> sampled_item_pairs_sensitivity(10)
    Sensitivity(l1=45, l2_squared=45, linf=1)
    """
    pairs = limit * (limit - 1) // 2
    return Sensitivity(l1=pairs, l2_squared=pairs, linf=min(pairs, 1))


def seal_sampled_item_pairs(sums: Integers, bound: SampledItemPairs) -> Bounded:
    """Turn an engine's numbers of pairs, the first item with all later ones and so on, into bounded values."""
    if sums.shape != (bound.pairs,):
        raise ValueError(f"there must be one number for each of {bound.pairs} pairs, not {sums.shape}")
    return Bounded(sums, sampled_item_pairs_sensitivity(bound.kept.limit), SEAL)
