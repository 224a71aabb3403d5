"""Factor model of visits: factors from noisy co-occurrence, and scores of items for one user's own items.

Everything is about *weights*: somebody with n items counts each with min(1, √(10 / n)), so that all together
have a bounded length. The weight of an item, added up over all people and divided by their number, is its
*share*.

What a person has is taken to be: as much of the shares as they have in general, plus the product of the person's
habits and the items' factors, plus chance, which scatters the more the more common an item is. Shares and
factors are released. How much in general, and the habits, are worked out from a person's own items, on that
person's side, and never leave it. What is not among the items with factors is recommended by its share; without
factors everything is.

The constants are public priors, chosen on other logs than those that are released: see docs/neighbours.md.

Reference
    M. Gavish, D. Donoho. Optimal Shrinkage of Singular Values. IEEE Transactions on Information Theory, 2017.
    H. Steck. Embarrassingly Shallow Autoencoders for Sparse Data. WWW 2019 (a linear model in closed form).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.adaptive.item_context_estimates import estimate_item_contexts
from headcount.adaptive.posterior import Posterior
from headcount.methods.recommender.factors import most_similar, significant_eigenpairs, symmetric_table

LIMIT = 10
"""The sum of squares of the weights of one person's items."""

FEWEST_ITEMS, MOST_ITEMS = 20, 2000
"""Relations are measured among so many items, or all there are."""

STEEPNESS = 128
"""How long the direction of what is common is made before it is rounded to whole numbers."""

_ITEMS_PER_SIGNAL = 8.0  # items in relations, by the root of how far all people stand out of the noise of one pair
_ROUNDS = 3  # in which the diagonal, which is not measured, settles
_LEAST_CHANCE = 0.1  # as a part of all that was measured


def worthwhile_items(users: float, deviation: float, catalogue: int) -> int:
    """Return among how many items relations should be measured.

    What people add to all pairs together grows with their number; what noise adds to the largest eigenvalue grows
    with the root of the number of items. Among more items more can be recommended, and less stands out: the root
    of people over the deviation of one pair, 8 times, was best on other logs.

    >>> [worthwhile_items(users, 7.0, 3_883) for users in (-5, 30, 4_832, 10**6)]
    [20, 20, 210, 2000]
    """
    items = _ITEMS_PER_SIGNAL * math.sqrt(max(users, 0.0) / deviation) if deviation else MOST_ITEMS
    return int(min(max(items, FEWEST_ITEMS), MOST_ITEMS, catalogue))


def item_shares(weights: Floats, users: float) -> Floats:
    """Return the shares of items from their noisy weights and a noisy number of people."""
    shares: Floats = np.maximum(weights, 0.0) / max(users, 1.0)
    return shares


def common_direction(weights: Floats) -> Integers:
    """Return what is common as whole numbers, for :class:`~headcount.bounds.Departures`.

    >>> common_direction(np.array([3.0, 4.0, -1.0])).tolist()
    [77, 102, 0]
    """
    common = np.maximum(weights, 0.0)
    length = float(np.linalg.norm(common))
    return np.rint(STEEPNESS * common / length if length else common).astype(np.int64)


def factors_of(pairs: Floats, deviation: float, common: Integers, shares: Floats, users: float) -> Floats:
    """Return a few factors of each item, from noisy products over all pairs: what noise cannot have made.

    What is ``common`` was taken out of the products, and noise along it is taken out here. Eigenvalues within
    reach of noise are dropped, and the others lowered by what noise adds to them. Since a person's products have
    a length of 1, their squares sum to √2, all people's to √2 ``users``; what factors do not explain of that is
    chance. The factors are in proportion to chance, spread over items as their shares are.
    """
    table = symmetric_table(pairs, shares.size)
    length = float(np.linalg.norm(common))
    along = common / length if length else np.zeros(shares.size)
    diagonal = np.zeros(shares.size)
    for _ in range(_ROUNDS):
        np.fill_diagonal(table, diagonal)
        values, vectors = significant_eigenpairs(_without(table, along), deviation)
        diagonal = vectors**2 @ values
    whole = math.sqrt(2) * max(users, 1.0)
    left = max(whole - float(values.sum()), _LEAST_CHANCE * whole)
    spread = float(shares.sum() - shares @ along**2)
    factors: Floats = vectors * np.sqrt(values * max(spread, 0.0) / left)
    return factors


def _without(table: Floats, along: Floats) -> Floats:
    """Return a symmetric table with one direction, of length 1, taken out on both sides."""
    most = table @ along
    rest: Floats = table - np.outer(most, along) - np.outer(along, most) + (along @ most) * np.outer(along, along)
    return rest


def context_lifts(weights: Floats, item_contexts: Floats, variance: float) -> Floats:
    """Return how much more an item weighs in a context than items do in general, shrunk by how noisy that is.

    ``item_contexts`` has a row for each item, and a column for each context.

    >>> context_lifts(np.array([90.0, 90.0]), np.array([[80.0, 10.0], [10.0, 80.0]]), 4.0).round(1).tolist()
    [[1.8, 0.2], [0.2, 1.8]]
    """
    positive_weights = np.maximum(weights, 0.0)
    mean = estimate_item_contexts(
        Posterior(positive_weights, positive_weights, positive_weights), item_contexts, variance, sums=False
    ).mean
    context_sums, whole = mean.sum(axis=0), mean.sum()
    expected = np.outer(positive_weights, context_sums / whole if whole else context_sums)
    lifts: Floats = np.divide(mean, expected, out=np.ones_like(mean), where=expected > 0)
    return lifts


@dataclass(frozen=True)
class VisitFactors:
    """Released shares of all items, and factors of some: ``factors[n]`` are those of item ``places[n]``."""

    shares: Floats
    places: Integers
    factors: Floats

    def scores(self, own: Integers, lifts: Floats | None = None) -> Floats:
        """Return how much of every item a person with the items ``own`` is expected to have.

        In a context everything is multiplied by the items' ``lifts`` there, or their roots where items are known.

        >>> model = VisitFactors(np.array([0.5, 0.4, 0.1]), np.arange(3), np.array([[1.0], [-1.0], [0.5]]))
        >>> model.scores(np.array([0])).argsort()[::-1].tolist()
        [0, 2, 1]
        >>> plain = VisitFactors(model.shares, np.arange(0), np.empty((0, 0)))
        >>> plain.scores(np.array([2])).argsort()[::-1].tolist()
        [0, 1, 2]
        """
        mine = np.zeros(self.shares.size)
        mine[own] = min(1.0, math.sqrt(LIMIT / max(own.size, 1)))
        among = self.shares[self.places] if self.factors.size else self.shares
        here = mine[self.places] if self.factors.size else mine
        squares, cubes = float(among @ among), float((among**3).sum())
        general = 1.0
        if squares:
            # what a person has along the shares tells how much they have in general: with the scatter of few items
            doubt = cubes / squares**2
            general = (float(here @ among) / squares + doubt) / (1 + doubt)
        expected = general * self.shares
        if self.factors.size:
            beyond = here - (float(here @ among) / squares if squares else 0.0) * among
            expected[self.places] += self._posterior_factors @ (self._scaled_factors.T @ beyond)
        if lifts is not None:
            # what a person has tells some of what their context does: as far as half of it, in logarithms
            expected = np.maximum(expected, 0.0) * (np.sqrt(lifts) if own.size else lifts)
        return expected

    @cached_property
    def _scaled_factors(self) -> Floats:
        """Factors divided by chance: what is common scatters more, but nothing scatters little."""
        among = self.shares[self.places]
        chance = among + float(np.median(among))
        weighed: Floats = self.factors / np.maximum(chance, 1e-12)[:, None]
        return weighed

    @cached_property
    def _posterior_factors(self) -> Floats:
        """Factors times the covariance of habits, given as many items as all are."""
        sure = np.linalg.inv(self._scaled_factors.T @ self.factors + np.eye(self.factors.shape[1]))
        spoken: Floats = self.factors @ sure
        return spoken

    def similar(self, item: int) -> tuple[Integers, Floats]:
        """Return the items that factors liken to one, most alike first, and the cosine of each; maybe none."""
        return most_similar(self.places, self.factors, item)
