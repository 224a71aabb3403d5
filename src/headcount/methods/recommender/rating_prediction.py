"""Factor model of ratings: offsets and factors from noisy sums, and predictions from one user's own ratings.

Everything is in stars of 1 to 5, whatever the declared range was. The numbers here are public priors: they were
fixed with other logs in view, never with the one that is released.

A rating is taken to be: what the person gives in general, plus the item's offset, plus the product of the person's
taste and the item's factors, plus chance. Offsets and factors are released. The general level and the taste are
worked out from a person's own ratings, on that person's side, and never leave it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.methods.recommender.factors import most_similar, significant_eigenpairs, symmetric_table

PRIOR_RATING, PRIOR_RATINGS = 3.6, 5.0  # the usual rating, and as how many of them it counts
DISTANCE, HALF = 0.9, 0.5  # what a distance was divided by, and what stands for one rating
OFFSETS_VARY = 0.25  # variance of true offsets, in stars²
RATINGS_VARY = 0.81  # variance of one rating around its person's level
CHANCE = 1.0  # variance of what neither offset nor taste explains, that of the offsets' own error included
LEAST_SUPPORT = 20.0
MOST_FACTORS = 10
PRODUCTS_DIVISOR = 256.0  # of products of user vectors in the released sums
REFIT_CHANCE = 0.8  # variance of what user vectors do not explain, in stars²
_LEAST_DEVIATION = 1e-3

FEWEST_ITEMS, MOST_ITEMS = 60, 2000
"""Relations are released among this many items, or not at all: of fewer, they say too little."""

MAX_NOISE_SHARE, MAX_NOISE_SHARE_TO_REFINE, BEST_NOISE_SHARE = 0.85, 0.5, 0.4
"""Noise as a part of what is expected: where relations begin to pay, to be refined, and where they are best."""

_LEADING, _FALLS = 0.24, 0.4


def offsets_of(distances: Floats, halves: Floats, deviation: float) -> tuple[Floats, Floats]:
    """Return each item's offset, shrunk toward 0 as far as noise and few ratings ask for, and its support.

    Both sums carry noise of the same ``deviation``. The support is the number of ratings, as far as they counted.

    >>> offsets_of(np.array([100.0, 1.0]), np.array([50.0, 0.5]), 2.0)[0].round(2).tolist()
    [0.87, 0.05]
    """
    support = np.maximum(halves / HALF, 0.0)
    sums = DISTANCE * distances
    doubt = RATINGS_VARY * support + (DISTANCE * deviation) ** 2
    return OFFSETS_VARY * sums * support / (OFFSETS_VARY * support**2 + doubt), support


def worthwhile_items(
    users: float, deviation: float, strength: float, catalogue: int, pays: float = MAX_NOISE_SHARE
) -> int:
    """Return among how many items relations should be released; 0 if they would not stand out of the noise.

    The largest eigenvalue of a symmetric table of pure noise among m items is 2 · deviation · √m. That of the
    relations themselves is expected to be ``strength`` · people · 0.24 · (60 / m)^0.4, as it is on MovieLens.
    Relations pay as long as noise among 60 items stays below the part ``pays`` of that; then they are taken among
    as many items as keep it below 0.4.

    >>> [worthwhile_items(people, 21.6, 1.0, 3_883) for people in (1_000, 3_000, 50_000)]
    [0, 60, 1157]
    """

    def most(part: float) -> float:
        expected = part * strength * max(users, 0.0) * _LEADING * FEWEST_ITEMS**_FALLS
        if deviation == 0:
            return math.inf if expected > 0 else 0.0
        return float((expected / (2 * deviation)) ** (1 / (0.5 + _FALLS)))

    if most(pays) < FEWEST_ITEMS or catalogue < FEWEST_ITEMS:
        return 0
    return int(min(max(most(BEST_NOISE_SHARE), FEWEST_ITEMS), MOST_ITEMS, catalogue))


def factors_of(pairs: Floats, deviation: float, support: Floats, users: float) -> Floats:
    """Return a few factors of each item, from noisy sums over all pairs of items: what noise cannot have made.

    Eigenvalues within reach of noise are dropped; the others are lowered by what noise adds to them on average.
    The table is then divided by how often two items would meet if people chose them independently.
    """
    values, vectors = significant_eigenpairs(symmetric_table(pairs, support.size), deviation)
    frequencies = np.maximum(support, LEAST_SUPPORT) / math.sqrt(max(users, 1.0))
    factors: Floats = vectors[:, :MOST_FACTORS] * np.sqrt(values[:MOST_FACTORS]) / frequencies[:, None]
    return factors


def refit_factors(sums: Floats, deviation: float, support: Floats, prior_factors: Floats) -> Floats:
    """Return the factors of the items of ``support``, refitted by one step of alternating least squares.

    Each user has a vector t, from factors that are released already, and gave an item e stars more than expected.
    If e is the product of t and the item's factors f, plus chance, then Σ e t = (Σ t t') f plus chance, over those
    who rated it. The first sum is released for each item, with noise, and the second for all items together
    (:class:`~headcount.bounds.FactorGradients`). Each item is taken to have the part of the latter that its
    support is of all support. Factors are expected to be as long as ``prior_factors``, of some items, and shrunk
    towards 0 as far as noise and few users ask for.

    ``sums`` has Σ e t of each item, and then Σ t t' / 256 as its upper triangle, row by row. All have noise of the
    same ``deviation``.

    >>> sums, before = np.array([50.0, -20.0, 0.6]), np.array([[0.5], [0.4]])
    >>> refit_factors(sums, 1.0, np.array([80.0, 40.0]), before).round(2).tolist()
    [[0.47], [-0.36]]
    """
    depth = prior_factors.shape[1]
    products = sums[: support.size * depth].reshape(support.size, depth, 1)
    second_moment = _positive_table(PRODUCTS_DIVISOR * sums[support.size * depth :], depth)
    spread = support[:, None, None] * (second_moment / max(float(support.sum()), 1.0))
    prior_covariance = np.square(prior_factors).mean(axis=0)[:, None] * spread
    residual_covariance = REFIT_CHANCE * spread + max(deviation, _LEAST_DEVIATION) ** 2 * np.eye(depth)
    factors = prior_covariance @ np.linalg.solve(spread @ prior_covariance + residual_covariance, products)
    return np.asarray(factors[:, :, 0])


def _positive_table(triangle: Floats, depth: int) -> Floats:
    """Return the symmetric table of an upper triangle, with negative eigenvalues raised to 0."""
    table = np.zeros((depth, depth))
    table[np.triu_indices(depth)] = triangle
    values, vectors = np.linalg.eigh(table + np.triu(table, 1).T)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


@dataclass(frozen=True)
class RatingFactors:
    """Released offsets of all items, and factors of some: ``factors[n]`` are those of item ``places[n]``."""

    offsets: Floats
    places: Integers
    factors: Floats

    def predict(self, rated: Integers, stars: Floats) -> Floats:
        """Return what a person who gave ``stars`` to the items ``rated`` would give to every item.

        >>> model = RatingFactors(np.array([0.5, 0.0]), np.empty(0, np.int64), np.empty((0, 0)))
        >>> model.predict(np.array([0]), np.array([5.0])).round(2).tolist()
        [4.25, 3.75]
        """
        above = stars - self.offsets[rated]
        level = (above.sum() + PRIOR_RATINGS * PRIOR_RATING) / (above.size + PRIOR_RATINGS)
        expected = level + self.offsets
        if self.factors.size:
            where = np.full(self.offsets.size, -1)
            where[self.places] = np.arange(self.places.size)
            has_factors = where[rated] >= 0
            own, residual = self.factors[where[rated[has_factors]]], above[has_factors] - level
            taste = np.linalg.solve(own.T @ own / CHANCE + np.eye(own.shape[1]), own.T @ residual / CHANCE)
            expected[self.places] += self.factors @ taste
        cut: Floats = np.clip(expected, 1.0, 5.0)
        return cut

    def similar(self, item: int) -> tuple[Integers, Floats]:
        """Return the items that factors liken to one, most alike first, and the cosine of each; maybe none."""
        return most_similar(self.places, self.factors, item)
