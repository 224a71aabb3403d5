"""Recommenders as an attacker uses them: rating logs go in, and fake users read their recommendation lists.

The one who reads is one more user of the system: what they rated is part of what it learns from, where it learns
from ratings as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from headcount._internal.arrays import Codes, Floats
from headcount.lab.as_published.recommender import pncf
from headcount.lab.recommender import neighbourhood
from headcount.lab.recommender.in_memory import fit_ratings
from headcount.lab.recommender.ratings import Ratings
from headcount.noise import NoiseSource

Reader = Callable[[Codes, Floats, int], Codes]
"""What somebody with these items and values is recommended, best first, at most so many."""


class Recommender(Protocol):
    """Learns from ratings, and then answers readers."""

    def __call__(self, ratings: Ratings) -> Reader:
        """Return what answers readers."""


@dataclass(frozen=True)
class Plain:
    """An item- or user-based neighbourhood method."""

    settings: neighbourhood.Neighbourhood

    def __call__(self, ratings: Ratings) -> Reader:
        """Read as one more user."""

        def read(items: Codes, values: Floats, count: int) -> Codes:
            return neighbourhood.recommend(ratings.joined(items, values, 1), ratings.n_users, self.settings, count)

        return read


@dataclass(frozen=True)
class AsPublished:
    """PNCF as published: every reading draws neighbours anew."""

    settings: pncf.Settings
    noise: NoiseSource

    def __call__(self, ratings: Ratings) -> Reader:
        """Read as one more user."""

        def read(items: Codes, values: Floats, count: int) -> Codes:
            joined = ratings.joined(items, values, 1)
            return pncf.recommend(joined, ratings.n_users, self.settings, count, self.noise)

        return read


@dataclass(frozen=True)
class Private:
    """The proven method: one private model is fitted, and whoever reads does so from it alone."""

    epsilon: str
    delta: str | None
    within: tuple[float, float]
    noise: NoiseSource

    def __call__(self, ratings: Ratings) -> Reader:
        """Fit once; a reader's own ratings stay with the reader."""
        return fit_ratings(ratings, self.epsilon, self.delta, self.within, self.noise).recommend
