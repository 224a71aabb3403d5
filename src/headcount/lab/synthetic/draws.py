"""Seeded integer draws for synthetic logs, identical on every machine.

Real numbers are rounded before they decide anything, every sort is stable, and all draws come from one
PCG64 stream.

How many records each user has
    Log-normal, with the spread chosen so that the most active user has exactly a given number of records;
    the numbers add up to exactly the size asked for.

Different items for one user
    The items lie in a random order on a line, each as long as it is popular but no longer than the distance
    between the user's evenly spaced points: no item can be hit twice (systematic sampling with unequal
    probabilities). Users of similar activity share one such line, about ``rows`` records to a line.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.errors import UsageError

Ints = NDArray[np.int64]

_LONGEST = 1 << 24  # length of the longest item on a line


def generator(seed: int) -> np.random.Generator:
    """Return the stream of draws that belongs to ``seed``.

    >>> generator(1).random() == generator(1).random()
    True
    """
    if seed < 0:
        raise UsageError("seed must be a whole number of at least 0", given=seed, remedy="try seed=1")
    return np.random.Generator(np.random.PCG64(seed))


def below(rng: np.random.Generator, bound: int, many: int) -> Ints:
    """Draw whole numbers from 0 to ``bound`` - 1.

    >>> sorted(set(below(generator(1), 3, 100).tolist()))
    [0, 1, 2]
    """
    return np.floor(rng.random(many) * bound).astype(np.int64)


def whole(weights: NDArray[np.floating]) -> Ints:
    """Round weights to whole numbers from 1 to 2²⁰, so that their sums are exact.

    >>> whole(np.array([1.0, 0.5, 0.0])).tolist()
    [1048576, 524288, 1]
    """
    rounded: Ints = np.maximum(np.rint(weights * ((1 << 20) / weights.max())), 1.0).astype(np.int64)
    return rounded


def draw(rng: np.random.Generator, edges: Ints, many: int) -> Ints:
    """Draw positions by weight, given the running sums of the weights.

    >>> np.bincount(draw(generator(1), np.array([3, 4]), 1_000)).tolist()
    [730, 270]
    """
    drawn: Ints = np.searchsorted(edges, below(rng, int(edges[-1]), many), side="right")
    return drawn


def lookup(weights: Ints, size: int) -> Ints:
    """Return ``size`` positions, each as frequent as its weight says, in order.

    >>> lookup(np.array([3, 0, 1]), 8).tolist()
    [0, 0, 0, 0, 0, 0, 2, 2]
    """
    edges = np.cumsum(weights)
    drawn: Ints = np.searchsorted(edges, np.arange(size) * edges[-1] // size, side="right")
    return drawn


def activity(rng: np.random.Generator, users: int, total: int, *, least: int, most: int) -> Ints:
    """Return how many records each user has: log-normal, from ``least`` to ``most``, ``total`` together.

    The most active user has exactly ``most``, unless there is one user or nothing beyond ``least`` to give.

    >>> counts = activity(generator(1), 100, 1_000, least=2, most=90)
    >>> int(counts.min()), int(counts.max()), int(counts.sum())
    (2, 90, 1000)
    """
    spare, top = total - users * least, most - least
    if users == 1 or spare == 0:
        return np.full(users, total // users, dtype=np.int64)
    z = rng.standard_normal(users)
    z = np.minimum(z, np.partition(z, -2)[-2] + 0.25)  # nobody far ahead of all others
    z -= z.max()
    low, high = 0.0, 64.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if np.exp(middle * z).sum() * top > spare else (low, middle)
    exact: Floats = top * np.exp(np.ceil(high * 1e6) / 1e6 * z)
    extra: Ints = np.floor(exact).astype(np.int64)
    others = np.argsort(-z, kind="stable")[1:]
    extra[others] -= _in_turn(int(extra.sum()) - spare, extra[others])
    by_remainder = np.argsort(np.floor((extra - exact) * 1e6), kind="stable")
    while (missing := spare - int(extra.sum())) > 0:
        room = by_remainder[extra[by_remainder] < top]
        extra[room[:missing]] += 1
    extra += least
    return extra


def distinct_items(
    rng: np.random.Generator, counts: Ints, popularity: Ints, *, rows: int
) -> Iterator[tuple[Ints, Ints]]:
    """Draw ``counts[u]`` different items for each user ``u``; yields blocks of about ``rows`` (user, item).

    >>> [(users, items)] = distinct_items(generator(1), np.array([3]), np.array([9, 1, 1]), rows=10)
    >>> users.tolist(), sorted(items.tolist())
    ([0, 0, 0], [0, 1, 2])
    """
    by_count = np.argsort(counts, kind="stable")
    sizes = counts[by_count]
    before = np.concatenate([[0], np.cumsum(sizes)])
    by_popularity = np.argsort(-popularity, kind="stable")
    start = 0
    while start < len(sizes):
        full = int(np.searchsorted(before, before[start] + rows))
        alike = int(np.searchsorted(sizes, sizes[start] * 5 // 4, side="right"))
        stop = max(start + 1, min(full, alike, len(sizes)))
        many = sizes[start:stop]
        line = rng.permutation(len(popularity))
        ends = np.cumsum(_lengths(popularity[by_popularity], int(many[-1]))[line])
        step = ends[-1] // many
        first = np.floor(rng.random(len(many)) * step).astype(np.int64)
        begin = first - (before[start:stop] - before[start]) * step
        points = np.repeat(begin, many) + np.repeat(step, many) * np.arange(before[stop] - before[start])
        users = np.repeat(by_count[start:stop], many)
        yield users, by_popularity[line][np.searchsorted(ends, points, side="right")]
        start = stop


def _lengths(popularity: Ints, points: int) -> Ints:
    """Return whole lengths in proportion to falling popularity, none over 1/points of their sum.

    >>> (_lengths(np.array([8, 1, 1]), 2) / _LONGEST).round(3).tolist()
    [1.0, 0.5, 0.5]
    """
    rest = np.cumsum(popularity[::-1])[::-1]
    relative = popularity * (points - np.arange(len(popularity))) / rest
    capped = int(np.argmax(relative <= 1))
    scaled = popularity * ((points - capped) / rest[capped]) * (_LONGEST * (1 - 1e-12))
    lengths: Ints = np.floor(np.minimum(scaled, _LONGEST)).astype(np.int64)
    lengths[:capped] = _LONGEST
    lengths += _in_turn(points * _LONGEST - int(lengths.sum()), _LONGEST - lengths)
    return lengths


def _in_turn(amount: int, room: Ints) -> Ints:
    """Split ``amount`` (nothing, if it is negative) by filling each room before the next.

    >>> _in_turn(5, np.array([3, 4, 9])).tolist()
    [3, 2, 0]
    """
    parts: Ints = np.clip(amount - (np.cumsum(room) - room), 0, room)
    return parts
