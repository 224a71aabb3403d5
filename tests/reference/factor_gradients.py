"""Reference of factor gradients: each user's vector, times that user's ratings and times itself, clipped."""

from __future__ import annotations

import itertools
import math

import numpy as np

from headcount.bounds import Bounded
from headcount.bounds.ratings.factor_gradients import (
    GRADIENT_NORM,
    MAX_FACTOR,
    PRODUCT_DIVISOR,
    FactorGradients,
)
from headcount.bounds.ratings.rating_bound import PRIOR_RATING, PRIOR_RATINGS, UNITS_PER_STAR
from headcount.events.log import EventLog
from tests.reference.ratings import LESS, cut_rating, people
from tests.reference.registry import measures


@measures(FactorGradients)
def sum_factor_gradients(log: EventLog, bound: FactorGradients, secret: bytes) -> Bounded:
    """Work out each person's taste, what it says of the items that they rated, and how short that must be."""
    depth = bound.factors.shape[1]
    liked, sums = np.zeros(bound.factors.shape, dtype=np.int64), np.zeros(depth * (depth + 1) // 2, dtype=np.int64)
    factors = dict(zip(bound.items.tolist(), bound.factors.tolist(), strict=True))
    allowed = GRADIENT_NORM * LESS
    place = {item: at for at, item in enumerate(factors)}
    for ratings in people(log):
        above = {item: rating - int(bound.offsets[item]) for item, rating in ratings.items()}
        mean = (sum(above.values()) + PRIOR_RATINGS * PRIOR_RATING) // (len(above) + PRIOR_RATINGS)
        away = {item: cut_rating(above[item] - mean) for item in above if item in factors}
        taste = _taste([factors[item] for item in away], [*away.values()], depth)
        both = [component * other for component, other in itertools.combinations_with_replacement(taste, 2)]
        products, squares = sum(value**2 for value in both), sum(value**2 for value in taste)
        apart = sum(value**2 for value in away.values())
        length = float(squares) * float(apart) + (len(away) / PRODUCT_DIVISOR) ** 2 * float(products)
        factor = 1.0 if length <= allowed * allowed else allowed / math.sqrt(length)
        sums += [math.trunc(factor * (len(away) * value) / PRODUCT_DIVISOR) for value in both]
        for item, offset in away.items():
            liked[place[item]] += [math.trunc(factor * (offset * component)) for component in taste]
    return bound.seal(np.concatenate([liked.ravel(), sums]))


def _taste(factors: list[list[int]], away: list[int], depth: int) -> list[int]:
    """Return the taste that explains distances by factors, where no taste is what is expected before."""
    rows = [
        [
            float(UNITS_PER_STAR**2 * (component == other) + sum(own[component] * own[other] for own in factors))
            for other in range(depth)
        ]
        + [float(sum(own[component] * offset for own, offset in zip(factors, away, strict=True)))]
        for component in range(depth)
    ]
    for pivot, other in itertools.combinations(range(depth), 2):
        part = rows[other][pivot] / rows[pivot][pivot]
        rows[other][pivot:] = [
            mine - part * its for mine, its in zip(rows[other][pivot:], rows[pivot][pivot:], strict=True)
        ]
    solution = [0.0] * depth
    for pivot in reversed(range(depth)):
        left = rows[pivot][depth]
        for other in range(pivot + 1, depth):
            left -= rows[pivot][other] * solution[other]
        solution[pivot] = left / rows[pivot][pivot]
    return [math.trunc(min(max(1024.0 * value, -MAX_FACTOR), MAX_FACTOR)) for value in solution]
