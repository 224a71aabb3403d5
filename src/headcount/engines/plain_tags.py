"""Weights of tags, one person after the other in plain Python: what the local engine must equal."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import FIXED_POINT, TOGETHER, Norm
from headcount.engines.plain_reading import Name, assignments
from headcount.events.tagged import TagLog

Integers = NDArray[np.int64]


def plain_taggers(log: TagLog) -> Integers:
    """Count the people who tagged anything.

    >>> log = TagLog.listing([("ann", "a", "x"), ("ann", "a", "x"), ("bob", "b", "y")],
    ...                      resources=["a", "b"], vocabulary=["x", "z"])
    >>> plain_taggers(log)
    array([1])
    """
    return np.array([sum(1 for _ in _people(log))], dtype=np.int64)


def plain_tag_weights(log: TagLog, norm: Norm) -> Integers:
    """Add up what each tag weighs to the people who used it."""
    return _summed(({tag for _, tag in own} for own in _people(log)), len(log.vocabulary.ids), norm)


def plain_marginal_weights(log: TagLog, norm: Norm) -> Integers:
    """Add up what each tag weighs, and after them what each resource does.

    >>> log = TagLog.listing([("ann", "a", "x"), ("ann", "b", "x"), ("bob", "a", "y")],
    ...                      resources=["a", "b"], vocabulary=["x", "y"])
    >>> (plain_marginal_weights(log, "l1") / 2**16).tolist()
    [1.0, 1.0, 1.5, 0.5]
    """
    resources = ({resource for resource, _ in own} for own in _people(log))
    return np.concatenate([plain_tag_weights(log, norm), _summed(resources, len(log.catalogue.ids), norm)])


def plain_pair_weights(log: TagLog, resources: Integers, tags: Integers, norm: Norm) -> Integers:
    """Add up what each of some tags on each of some resources weighs; in L2, what tags together weigh follows.

    >>> log = TagLog.listing([("ann", "a", "x"), ("ann", "b", "y")], resources=["a", "b"], vocabulary=["x", "y"])
    >>> (plain_pair_weights(log, np.array([1, 0]), np.array([1]), "l1") / 2**16).tolist()
    [1.0, 0.0]
    """
    row = {resource: place for place, resource in enumerate(resources.tolist())}
    column = {tag: place for place, tag in enumerate(tags.tolist())}
    cells = (
        {row[resource] * len(column) + column[tag] for resource, tag in own if resource in row and tag in column}
        for own in _people(log)
    )
    values = _summed(cells, len(row) * len(column), norm)
    if norm == "l1":
        return values
    known = ({column[tag] for _, tag in own if tag in column} for own in _people(log))
    return np.concatenate([values, _together(known, len(column))])


def _people(log: TagLog) -> Iterator[set[tuple[int, int]]]:
    """Return what each person gave which tag to, each once."""
    given: dict[Name, set[tuple[int, int]]] = defaultdict(set)
    for who, resource, tag in assignments(log):
        given[who].add((resource, tag))
    yield from given.values()


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
    return bisect_right(range(length + 1), length**power, key=lambda each: many * each**power) - 1


def _together(everyone: Iterable[set[int]], size: int) -> Integers:
    """Add up x xᵀ / n over all people, for their 0/1 vector x of n tags: row by row, from the diagonal on.

    What is off the diagonal stands for two entries, and is √2 times as large.
    """
    sums = np.zeros((size, size), dtype=np.int64)
    for places in everyone:
        many = len(places)
        for place in places:
            sums[place, place] += TOGETHER // many
        for one, other in combinations(sorted(places), 2):
            sums[one, other] += _root_two(many)
    return np.array([each for row in range(size) for each in sums[row, row:]], dtype=np.int64)


def _root_two(many: int) -> int:
    """Return √2 · ``TOGETHER`` divided by so many, rounded down.

    >>> [_root_two(many) for many in (2, 3)]
    [23170, 15446]
    """
    return bisect_right(range(2 * TOGETHER), 2 * TOGETHER**2, key=lambda each: (each * many) ** 2) - 1
