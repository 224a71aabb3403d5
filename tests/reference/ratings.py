"""Reference of rating sums: users who rated, item offsets, and item covariance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from headcount.bounds import Bounded
from headcount.bounds.ratings.rating_bound import (
    MAX_RESIDUAL,
    PRIOR_RATING,
    PRIOR_RATINGS,
    UNITS_PER_STAR,
    WHOLE_RANGE,
    Raters,
)
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.ratings.rating_offsets import RatingOffsets
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from tests.reference.registry import measures

LESS = 1 - 2.0**-31


@measures(Raters)
def count_raters(log: EventLog, bound: Raters, secret: bytes) -> Bounded:
    """Count the people who rated, or have, anything."""
    return Raters().seal(np.array([len(list(people(log)))]))


@measures(RatingOffsets)
def sum_rating_offsets(log: EventLog, bound: RatingOffsets, secret: bytes) -> Bounded:
    """Add up how far ratings lie from their users' means, and how many there are."""
    sums = np.zeros((2, len(log.catalogue.ids)), dtype=np.int64)
    limit = bound.limit * UNITS_PER_STAR
    for ratings in people(log):
        mean = (sum(ratings.values()) + PRIOR_RATINGS * PRIOR_RATING) // (len(ratings) + PRIOR_RATINGS)
        away = {item: cut_rating(rating - mean) for item, rating in ratings.items()}
        if bound.norm == "l2":
            squared = sum(100 * offset**2 + 81 * 512**2 for offset in away.values())
            factor = 1.0 if squared <= 81 * limit**2 else 9.0 * limit / math.sqrt(float(squared)) * LESS
        else:
            length = sum(10 * abs(offset) + 9 * 512 for offset in away.values())
            factor = 1.0 if length <= 9 * limit else 9.0 * limit / length * LESS
        for item, offset in away.items():
            sums[0, item] += math.trunc(factor * offset * 10.0 / 9.0)
            sums[1, item] += math.trunc(factor * 512)
    return bound.seal(sums)


@measures(RatingCovariance)
def sum_rating_covariance(log: EventLog, bound: RatingCovariance, secret: bytes) -> Bounded:
    """Add up products of what users gave two items, or how many have both."""
    size, place = bound.items.size, {int(item): at for at, item in enumerate(bound.items)}
    table = np.zeros((size, size), dtype=np.int64)
    allowed = bound.limit * 2.0**20 * LESS
    for ratings in people(log):
        away = dict.fromkeys(ratings, UNITS_PER_STAR)
        if bound.offsets is not None:
            above = {item: rating - int(bound.offsets[item]) for item, rating in ratings.items()}
            mean = (sum(above.values()) + PRIOR_RATINGS * PRIOR_RATING) // (len(above) + PRIOR_RATINGS)
            away = {item: cut_rating(rating - mean) for item, rating in above.items()}
        mine = sorted((place[item], pair) for item, pair in away.items() if item in place)
        weights = [float(rating**2 if bound.norm == "l2" else abs(rating)) for _, rating in mine]
        length = before = 0.0
        for weight in weights:
            length += weight * before
            before += weight
        reached = math.sqrt(length) if bound.norm == "l2" else length
        long = length > (allowed**2 if bound.norm == "l2" else allowed)
        factor = math.sqrt(allowed / reached) if long else 1.0
        cut = [(at, math.trunc(factor * rating / 4.0)) for at, rating in mine]
        for number, (at, first_rating) in enumerate(cut):
            for other, two in cut[number + 1 :]:
                table[at, other] += first_rating * two
    return bound.seal(table[np.triu_indices(size, 1)])


def people(log: EventLog) -> Iterator[dict[int, int]]:
    """Return what each user gave each item: the mean, where that was several ratings."""
    given: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    rows = collect_rows(EncodedLog(log, Raters().reading(log)))
    for row, (user, item) in enumerate(zip(rows.users.tolist(), rows.cells.tolist(), strict=True)):
        value = 0
        if rows.values is not None and log.value_range is not None:
            low, high = map(float, log.value_range)
            stretched = (min(max(float(rows.values[row]), low), high) - low) * (WHOLE_RANGE / (high - low))
            value = round(min(max(stretched, 0), WHOLE_RANGE))
        given[user][item].append(value)
    for ratings in given.values():
        yield {item: (2 * sum(values) + len(values)) // (2 * len(values)) for item, values in ratings.items()}


def cut_rating(number: int) -> int:
    """Cut how far a rating lies from what is expected."""
    return min(max(number, -MAX_RESIDUAL), MAX_RESIDUAL)
