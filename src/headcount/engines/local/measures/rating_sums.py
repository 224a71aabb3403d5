"""Sums over users' ratings, several threads at once: whole numbers, so that their order makes no difference."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.threads import mapping
from headcount.bounds import (
    FURTHEST_RATING,
    SHY,
    STAR,
    USUAL,
    Bound,
    Bounded,
    Offsets,
    Pairs,
    Raters,
    certify_offsets,
    certify_pairs,
    certify_raters,
)
from headcount.engines.local.measures.ratings import Rated, read_ratings
from headcount.engines.local.runner import Passes
from headcount.events.encode.prefetch import FEW_ROWS
from headcount.events.log import EventLog

_NONE = np.empty(0, dtype=np.int64)


def raters(passes: Passes, log: EventLog, bound: Raters, secret: bytes) -> Bounded:  # noqa: ARG001
    """Count the users who rated, or have, anything."""
    return certify_raters(int(np.count_nonzero(np.diff(rated_of(passes, log, bound).starts))))


def offsets(passes: Passes, log: EventLog, bound: Offsets, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up how far ratings lie from their users' means, and how many there are."""
    from headcount.bounds.ratings.kernels.ratings import offset_sums

    rated = rated_of(passes, log, bound)
    asked = (bound.limit * STAR, bound.norm == "l2", USUAL, SHY, FURTHEST_RATING)
    return certify_offsets(summed(offset_sums, rated, asked, (2, rated.size), passes.threads), bound)


def pairs(passes: Passes, log: EventLog, bound: Pairs, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up products of what users gave two items, or how many have both."""
    from headcount.bounds.ratings.kernels.ratings import pair_sums

    rated = rated_of(passes, log, bound)
    released = _NONE if bound.offsets is None else bound.offsets
    places = bound.places(rated.size)
    asked = (bound.limit, bound.norm == "l2", USUAL, SHY, FURTHEST_RATING, places, bound.items.size, released)
    threads = passes.threads_for(bound.pairs)
    return certify_pairs(summed(pair_sums, rated, asked, (bound.pairs,), threads), bound)


def rated_of(passes: Passes, log: EventLog, bound: Bound[Bounded]) -> Rated:
    """Return the ratings of a log, which stay in memory between the stages of one release."""
    return passes.once(log, bound.reading(log), lambda: read_ratings(log, passes))


def summed(
    kernel: Callable[..., None], rated: Rated, asked: tuple[Any, ...], shape: tuple[int, ...], threads: int
) -> NDArray[np.int64]:
    """Run a kernel over shares of the users with about as many ratings each, and add up what they make."""
    shares = np.linspace(0, rated.starts[-1], threads + 1).astype(np.int64)
    borders = np.searchsorted(rated.starts, shares)
    borders[0], borders[-1] = 0, rated.users
    made = [np.zeros(shape, dtype=np.int64) for _ in range(threads)]

    def run(part: tuple[int, int], sums: NDArray[np.int64]) -> None:
        kernel(rated.starts, rated.items, rated.values, *part, *asked, sums)

    with mapping(threads, few=rated.items.size < FEW_ROWS) as mapped:
        list(mapped(run, itertools.pairwise(borders.tolist()), made))
    for each in made[1:]:
        made[0] += each
    return made[0]
