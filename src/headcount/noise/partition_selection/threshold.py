"""Private item selection (partition selection) by a noisy threshold on user counts, under (ε, δ).

Every item that at least one person kept gets independent discrete Laplace noise on its number of people, of scale
b = l / ε for at most l items of a person, and is released if it reaches τ = 1 + ⌈b · ln(l / (δ (1 + α)))⌉, where
α = e^(-1/b). Items that nobody kept are never released. What comes out is the set of released items, sorted by
their ids; neither the noisy numbers, nor how many items there were.

Why it is private
    Let one person join, and let K be the items they keep, at most l. What the others keep does not change. Split K
    into the items S that somebody else keeps as well, and the new ones N that nobody else does: |S| + |N| <= l.
    Items outside K have the same number of people, and the same chance, with and without the person. All items are
    decided independently.

    *Shared items.* The number of people behind an item of S changes by 1, from at least 1. Noise with
    P(x) ∝ e^(-|x| / b) makes any outcome of one number likelier or less likely by a factor of at most e^(1/b), and
    comparing it with τ is post-processing. So every outcome on S is likelier or less likely by a factor of at most
    e^(|S| / b) <= e^(l / b) <= e^ε.

    *New items.* Without the person they are never released. With the person, each has one person behind it and is
    released with probability p = P(1 + X >= τ) = P(X >= τ - 1) = α^(τ - 1) / (1 + α), since τ >= 1, and
    α^(τ - 1) <= δ (1 + α) / l by the choice of τ, so p <= δ / l. Let q = 1 - (1 - p)^|N| be the probability that
    any of them is released: q <= |N| · p <= δ, by the union bound.

    *Together.* Let O be a set of outcomes; P is the probability without the person, P' with. Outcomes with a new
    item do not occur without the person, and have probability q in all with them. Of the others, P' is 1 - q times
    the chance on all items but N, which is P up to a factor of e^ε either way. Hence
    P'(O) <= (1 - q) · e^ε · P(O) + q <= e^ε · P(O) + δ, and
    P(O) = (1 - q) · P(O) + q · P(O) <= e^ε · P'(O) + δ.

    This holds for any fixed choice of items by each person alone, and so on average over random choices.

    The number of people that counts is that of those who *kept* the item: an item that people had beyond their
    limit, and that nobody kept, is not in the list, since a person may have many more than l of these.

    The number of draws is the number of items there are, which is private: the time it takes must not be shown.

Departures from the paper
    Discrete noise and an exact sampler; τ is rounded up with 60 digits, for the scale that is really drawn.

Reference
    A. Korolova, K. Kenthapadi, N. Mishra, A. Ntoulas. Releasing Search Queries and Clicks Privately. WWW 2009.
    D. Desfontaines, J. Voss, B. Gipson, C. Mandayam. Differentially Private Partition Selection. PoPETs 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import pyarrow as pa

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds.keys.key_support import BoundedKeySupport
from headcount.errors import GrantError
from headcount.noise.laplace import confirm, draw, scale_for
from headcount.noise.randomness import NoiseSource

_PRECISION = 60  # digits
_SLACK = Decimal(10) ** -40  # far above the rounding of 60 digits, far below what moves a threshold


@dataclass(frozen=True)
class Threshold:
    """How many people an item needs, noise included, and the law of that noise: known without data."""

    users_needed: int
    distribution: DiscreteLaplace


def threshold_for(limit: int, cost: Cost) -> Threshold:
    """Return the threshold for at most ``limit`` items per person.

    >>> threshold_for(1, Cost.of("1", "1e-6")).users_needed, threshold_for(10, Cost.of("1", "1e-6")).users_needed
    (15, 156)
    """
    cost.check_whole()
    if not cost.delta:
        raise GrantError("items are selected with δ above 0 alone", remedy="give a delta, such as 1e-6")
    distribution = DiscreteLaplace(scale_for(limit, cost.exact))
    return Threshold(1 + _steps_above(limit, distribution.scale, cost.delta), distribution)


def select_by_threshold(support: BoundedKeySupport, grant: Grant, source: NoiseSource) -> list[str] | list[int]:
    """Spend the grant on the items that enough people have; return their ids, sorted."""
    if type(support) is not BoundedKeySupport:
        raise TypeError(f"items are selected by their BoundedKeySupport alone, not from {type(support).__name__}")
    threshold = threshold_for(support.limit, grant.cost)
    confirm(threshold.distribution.scale, support.limit, grant.exact)
    grant.spend()
    users_by_item = support.sensitive_users
    noisy = users_by_item + draw(threshold.distribution, users_by_item.size, source)
    chosen: list[str] | list[int] = support.sensitive_ids.filter(
        pa.array((users_by_item >= 1) & (noisy >= threshold.users_needed), pa.bool_())
    ).to_pylist()
    chosen.sort()
    return chosen


def _steps_above(limit: int, scale: Fraction, delta: Decimal) -> int:
    """Return the smallest t >= 0 with P(X >= t) = α^t / (1 + α) <= δ / limit, or one more."""
    with localcontext() as context:
        context.prec = _PRECISION
        b = Decimal(scale.numerator) / Decimal(scale.denominator)
        alpha = (-1 / b).exp()
        steps = b * (limit / (delta * (1 + alpha))).ln()
        return max(0, int((steps + abs(steps) * _SLACK + _SLACK).to_integral_value(ROUND_CEILING)))
