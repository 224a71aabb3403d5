"""Reference of factor gradients: each user's vector, times that user's ratings and times itself, clipped."""

from __future__ import annotations

import itertools
import math

import numpy as np

from headcount.bounds import (
    FURTHEST_FACTOR,
    LIKING_LENGTH,
    PRODUCTS,
    SHY,
    STAR,
    USUAL,
    Bounded,
    Likings,
    certify_likings,
)
from headcount.events.log import EventLog
from tests.reference.ratings import LESS, cut_rating, people


def sum_factor_gradients(log: EventLog, bound: Likings, secret: bytes) -> Bounded:
    """Work out each person's taste, what it says of the items that they rated, and how short that must be."""
    depth = bound.factors.shape[1]
    liked, sums = np.zeros(bound.factors.shape, dtype=np.int64), np.zeros(depth * (depth + 1) // 2, dtype=np.int64)
    factors = dict(zip(bound.items.tolist(), bound.factors.tolist(), strict=True))
    allowed = LIKING_LENGTH * LESS
    place = {item: at for at, item in enumerate(factors)}
    for ratings in people(log):
        above = {item: rating - int(bound.offsets[item]) for item, rating in ratings.items()}
        mean = (sum(above.values()) + SHY * USUAL) // (len(above) + SHY)
        away = {item: cut_rating(above[item] - mean) for item in above if item in factors}
        taste = _taste([factors[item] for item in away], [*away.values()], depth)
        both = [one * other for one, other in itertools.combinations_with_replacement(taste, 2)]
        products, squares = sum(each**2 for each in both), sum(each**2 for each in taste)
        apart = sum(each**2 for each in away.values())
        length = float(squares) * float(apart) + (len(away) / PRODUCTS) ** 2 * float(products)
        factor = 1.0 if length <= allowed * allowed else allowed / math.sqrt(length)
        sums += [math.trunc(factor * (len(away) * each) / PRODUCTS) for each in both]
        for item, each in away.items():
            liked[place[item]] += [math.trunc(factor * (each * one)) for one in taste]
    return certify_likings(np.concatenate([liked.ravel(), sums]), bound)


def _taste(factors: list[list[int]], away: list[int], depth: int) -> list[int]:
    """Return the taste that explains distances by factors, where no taste is what is expected before."""
    rows = [
        [float(STAR**2 * (one == other) + sum(own[one] * own[other] for own in factors)) for other in range(depth)]
        + [float(sum(own[one] * each for own, each in zip(factors, away, strict=True)))]
        for one in range(depth)
    ]
    for one, other in itertools.combinations(range(depth), 2):
        part = rows[other][one] / rows[one][one]
        rows[other][one:] = [
            mine - part * its for mine, its in zip(rows[other][one:], rows[one][one:], strict=True)
        ]
    found = [0.0] * depth
    for one in reversed(range(depth)):
        left = rows[one][depth]
        for other in range(one + 1, depth):
            left -= rows[one][other] * found[other]
        found[one] = left / rows[one][one]
    return [math.trunc(min(max(1024.0 * each, -FURTHEST_FACTOR), FURTHEST_FACTOR)) for each in found]
