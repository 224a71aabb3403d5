"""Keep each user's records of the best-scored items; the scores are public or released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import Noisy
from headcount.bounds.counts.count_bound import CountBound


@dataclass(frozen=True)
class DeclaredScores:
    """Whole numbers that are public by declaration: no user moves them, so nothing is paid for them."""

    values: Integers


@dataclass(frozen=True)
class KeepTopScored(CountBound):
    """The at most ``limit`` records of each user whose items have the best scores, ties at random.

    Scores are the same for everybody, and known without the user in question: so how far a user moves the counts
    does not depend on them.
    """

    scores: Noisy | DeclaredScores

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """Dense ranks of the scores, 0 for the best.

        >>> from headcount.accounting.noise_distributions import DiscreteLaplace
        >>> noisy = Noisy(np.array([5, 9, 5]), DiscreteLaplace.from_json({"scale": "1"}))
        >>> KeepTopScored(2, noisy).ranks
        array([1, 0, 1])
        """
        _, ascending = np.unique(self.scores.values, return_inverse=True)
        return np.asarray(ascending.max(initial=0) - ascending, dtype=np.int64)
