"""Reference of tag weights: users, tags, resources, and tags on resources; a user's weights have length 1."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds import FIXED_POINT, Bounded, Norm
from headcount.bounds.tags.tag_weights import (
    TAG_PAIR_WEIGHT,
    TagBound,
    Taggers,
    TagMarginals,
    TagPairs,
    TagWeights,
)
from headcount.events.log import EventLog
from headcount.events.tag_log import TagLog
from tests.reference.registry import measures
from tests.reference.rows import Name, assignments


@measures(Taggers, TagWeights, TagMarginals, TagPairs)
def sum_tag_weights(log: EventLog, bound: TagBound, secret: bytes) -> Bounded:
    """Add up what a bound makes of each person's assignments.

    >>> log = TagLog.listing([("ann", "a", "x"), ("ann", "b", "x"), ("bob", "a", "y")],
    ...                      resources=["a", "b"], vocabulary=["x", "y"])
    >>> (sum_tag_weights(log, TagMarginals("l1"), bytes(16)).sensitive_values / 2**16).tolist()
    [1.0, 1.0, 1.5, 0.5]
    >>> bound = TagPairs(np.array([1, 0]), np.array([1]), "l1")
    >>> (sum_tag_weights(log, bound, bytes(16)).sensitive_values / 2**16).tolist()
    [0.0, 1.0]
    """
    tagged = TagLog.of_log(log)
    people = _people(tagged, bound)
    sums = np.array([len(people)], dtype=np.int64)
    if isinstance(bound, TagPairs):
        sums = _pairs(people, bound)
    elif isinstance(bound, TagWeights | TagMarginals):
        sums = _summed([{tag for _, tag in own} for own in people], len(tagged.vocabulary.ids), bound.norm)
    if isinstance(bound, TagMarginals):
        resources = [{resource for resource, _ in own} for own in people]
        sums = np.concatenate([sums, _summed(resources, len(tagged.catalogue.ids), bound.norm)])
    return bound.seal(tagged, sums)


def _pairs(people: list[set[tuple[int, int]]], bound: TagPairs) -> Integers:
    """Add up what each of some tags on each of some resources weighs; in L2, what tags together weigh follows."""
    row = {resource: place for place, resource in enumerate(bound.resources.tolist())}
    column = {tag: place for place, tag in enumerate(bound.tags.tolist())}
    cells = [
        {row[resource] * len(column) + column[tag] for resource, tag in own if resource in row and tag in column}
        for own in people
    ]
    values = _summed(cells, len(row) * len(column), bound.norm)
    if bound.norm == "l1":
        return values
    listed_tags = [{column[tag] for _, tag in own if tag in column} for own in people]
    return np.concatenate([values, _together(listed_tags, len(column))])


def _people(log: TagLog, bound: TagBound) -> list[set[tuple[int, int]]]:
    """Return what each person gave which tag to, each once."""
    given: dict[Name, set[tuple[int, int]]] = defaultdict(set)
    for who, resource, tag in assignments(log, bound):
        given[who].add((resource, tag))
    return list(given.values())


def _summed(everyone: Iterable[set[int]], size: int, norm: Norm) -> Integers:
    """Add up what the places of each person weigh: alike, and of length 1 together."""
    sums = [0] * size
    for places in everyone:
        for place in places:
            sums[place] += _most(len(places), FIXED_POINT, 2 if norm == "l2" else 1)
    return np.array(sums, dtype=np.int64)


def _most(many: int, length: int, power: int) -> int:
    """Return the most that each of so many weighs if the length of all, by a power of 1 or 2, is not exceeded.

    >>> [_most(many, 2**16, 2) for many in (1, 2, 4)], [_most(many, 2**16, 1) for many in (1, 2, 3)]
    ([65536, 46340, 32768], [65536, 32768, 21845])
    """
    return bisect_right(range(length + 1), length**power, key=lambda candidate: many * candidate**power) - 1


def _together(everyone: Iterable[set[int]], size: int) -> Integers:
    """Add up x xᵀ / n over all people, for their 0/1 vector x of n tags: row by row, from the diagonal on.

    What is off the diagonal stands for two entries, and is √2 times as large.
    """
    sums = np.zeros((size, size), dtype=np.int64)
    for places in everyone:
        many = len(places)
        for place in places:
            sums[place, place] += TAG_PAIR_WEIGHT // many
        for first, other in combinations(sorted(places), 2):
            sums[first, other] += _root_two(many)
    return np.array([value for row in range(size) for value in sums[row, row:]], dtype=np.int64)


def _root_two(many: int) -> int:
    """Return √2 · ``TAG_PAIR_WEIGHT`` divided by so many, rounded down.

    >>> [_root_two(many) for many in (2, 3)]
    [23170, 15446]
    """
    return (
        bisect_right(
            range(2 * TAG_PAIR_WEIGHT), 2 * TAG_PAIR_WEIGHT**2, key=lambda candidate: (candidate * many) ** 2
        )
        - 1
    )
