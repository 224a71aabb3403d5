"""Noisy table size and noisy error of the answers: two releases with their own budget.

Answers that come from a fitted table may be wrong in any way. So the error that 97 % of all answers do not exceed
is released as well: it moves by no more than one answer does, so that a small share of ε is enough. An interval is
that error, and what its own noise may hide, either way. It holds for 95 % of all answers, on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, LinearQueries, distances, exact_answers, group_sums, quantile
from headcount.noise import NoiseSource, add_noise
from headcount.releases.formatting import per_cent

LEVEL = 0.95
TOTAL, ERROR = "total", "error"
"""What the stages are called that pay for them."""

WITHIN = 0.97  # of all answers; the noise is allowed for in 98 % of all cases, and both together make 95 %
_NOT_HIDDEN = 0.96  # two-sided: 98 % to one side


@dataclass(frozen=True)
class Total:
    """A released number of records, at least 1, and its noise."""

    people: float
    distribution: NoiseDistribution


@dataclass(frozen=True)
class Accuracy:
    """The error that 97 % of all answers do not exceed, as released, and what to allow for its noise."""

    error: float
    distribution: NoiseDistribution

    @property
    def width(self) -> float:
        """How far to go either way from an answer; estimates were rounded before they were compared."""
        return max(self.error, 0.0) + self.distribution.half_width(_NOT_HIDDEN) + 0.5

    @property
    def story(self) -> str:
        """Say what was released."""
        return (
            f"The error that {per_cent(WITHIN)} of these answers do not exceed was released too: "
            f"{max(self.error, 0):,.0f}, with {self.distribution.in_words()}. The intervals are made of it."
        )


def released_total(cells: Bounded, grant: Grant, noise: NoiseSource) -> Total:
    """Spend a grant on the number of records in all cells."""
    noisy = add_noise(group_sums(cells, np.zeros(cells.size, dtype=np.int64), 1), grant, noise)
    return Total(max(1.0, float(noisy.counts[0])), noisy.distribution)


def released_accuracy(
    cells: Bounded, queries: LinearQueries, answers: Floats, grant: Grant, noise: NoiseSource
) -> Accuracy:
    """Spend a grant on how good answers are."""
    apart = distances(exact_answers(cells, queries), answers)
    noisy = add_noise(quantile(apart, WITHIN), grant, noise)
    return Accuracy(float(noisy.counts[0]), noisy.distribution)
