"""Reference of rating sums: users who rated, item offsets, and covariance of items."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from headcount.bounds import (
    FURTHEST_RATING,
    SHY,
    STAR,
    USUAL,
    Bounded,
    Offsets,
    Pairs,
    Raters,
    certify_offsets,
    certify_pairs,
    certify_raters,
)
from headcount.engines.local.measures.ratings import WHOLE_RANGE
from headcount.engines.local.row_reader import collected
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog

LESS = 1 - 2.0**-31


def count_raters(log: EventLog, bound: Raters, secret: bytes) -> Bounded:
    """Count the people who rated, or have, anything."""
    return certify_raters(len(list(people(log))))


def sum_rating_offsets(log: EventLog, bound: Offsets, secret: bytes) -> Bounded:
    """Add up how far ratings lie from their users' means, and how many there are."""
    sums = np.zeros((2, len(log.catalogue.ids)), dtype=np.int64)
    limit = bound.limit * STAR
    for ratings in people(log):
        mean = (sum(ratings.values()) + SHY * USUAL) // (len(ratings) + SHY)
        away = {item: cut_rating(rating - mean) for item, rating in ratings.items()}
        if bound.norm == "l2":
            squared = sum(100 * each**2 + 81 * 512**2 for each in away.values())
            factor = 1.0 if squared <= 81 * limit**2 else 9.0 * limit / math.sqrt(float(squared)) * LESS
        else:
            length = sum(10 * abs(each) + 9 * 512 for each in away.values())
            factor = 1.0 if length <= 9 * limit else 9.0 * limit / length * LESS
        for item, each in away.items():
            sums[0, item] += math.trunc(factor * each * 10.0 / 9.0)
            sums[1, item] += math.trunc(factor * 512)
    return certify_offsets(sums, bound)


def sum_rating_covariance(log: EventLog, bound: Pairs, secret: bytes) -> Bounded:
    """Add up products of what users gave two items, or how many have both."""
    size, place = bound.items.size, {int(item): at for at, item in enumerate(bound.items)}
    table = np.zeros((size, size), dtype=np.int64)
    allowed = bound.limit * 2.0**20 * LESS
    for ratings in people(log):
        away = dict.fromkeys(ratings, STAR)
        if bound.offsets is not None:
            above = {item: rating - int(bound.offsets[item]) for item, rating in ratings.items()}
            mean = (sum(above.values()) + SHY * USUAL) // (len(above) + SHY)
            away = {item: cut_rating(each - mean) for item, each in above.items()}
        mine = sorted((place[item], each) for item, each in away.items() if item in place)
        weights = [float(each**2 if bound.norm == "l2" else abs(each)) for _, each in mine]
        length = before = 0.0
        for weight in weights:
            length += weight * before
            before += weight
        reached = math.sqrt(length) if bound.norm == "l2" else length
        long = length > (allowed**2 if bound.norm == "l2" else allowed)
        factor = math.sqrt(allowed / reached) if long else 1.0
        cut = [(at, math.trunc(factor * each / 4.0)) for at, each in mine]
        for number, (at, one) in enumerate(cut):
            for other, two in cut[number + 1 :]:
                table[at, other] += one * two
    return certify_pairs(table[np.triu_indices(size, 1)], bound)


def people(log: EventLog) -> Iterator[dict[int, int]]:
    """Return what each user gave each item: the mean, where that was several ratings."""
    given: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    rows = collected(EncodedLog(log, Raters().reading(log)))
    for row, (user, item) in enumerate(zip(rows.users.tolist(), rows.cells.tolist(), strict=True)):
        value = 0
        if rows.values is not None and log.value_range is not None:
            low, high = map(float, log.value_range)
            stretched = (min(max(float(rows.values[row]), low), high) - low) * (WHOLE_RANGE / (high - low))
            value = round(min(max(stretched, 0), WHOLE_RANGE))
        given[user][item].append(value)
    for ratings in given.values():
        yield {item: (2 * sum(each) + len(each)) // (2 * len(each)) for item, each in ratings.items()}


def cut_rating(number: int) -> int:
    """Cut how far a rating lies from what is expected."""
    return min(max(number, -FURTHEST_RATING), FURTHEST_RATING)
