"""Local measurement of raters, rating offsets and rating covariance: integer sums on several threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.threads import parallel_map
from headcount.bounds import (
    MAX_RESIDUAL,
    PRIOR_RATING,
    PRIOR_RATINGS,
    UNITS_PER_STAR,
    Bound,
    Bounded,
    Raters,
    RatingCovariance,
    RatingOffsets,
    seal_raters,
    seal_rating_covariance,
    seal_rating_offsets,
)
from headcount.engines.local.measures.ratings import UserRatings, read_ratings
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.prefetch import FEW_ROWS
from headcount.events.log import EventLog

_NONE = np.empty(0, dtype=np.int64)


def measure_raters(passes: LocalRunner, log: EventLog, bound: Raters, secret: bytes) -> Bounded:  # noqa: ARG001
    """Count the users who rated, or have, anything."""
    return seal_raters(int(np.count_nonzero(np.diff(ratings_of(passes, log, bound).starts))))


def measure_rating_offsets(passes: LocalRunner, log: EventLog, bound: RatingOffsets, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up how far ratings lie from their users' means, and how many there are."""
    from headcount.bounds.ratings.kernels.ratings import offset_sums

    rated = ratings_of(passes, log, bound)
    settings = (bound.limit * UNITS_PER_STAR, bound.norm == "l2", PRIOR_RATING, PRIOR_RATINGS, MAX_RESIDUAL)
    return seal_rating_offsets(
        sum_over_users(offset_sums, rated, settings, (2, rated.size), passes.threads), bound
    )


def measure_rating_covariance(
    passes: LocalRunner,
    log: EventLog,
    bound: RatingCovariance,
    secret: bytes,  # noqa: ARG001
) -> Bounded:
    """Add up products of what users gave two items, or how many have both."""
    from headcount.bounds.ratings.kernels.ratings import pair_sums

    rated = ratings_of(passes, log, bound)
    released = _NONE if bound.offsets is None else bound.offsets
    places = bound.places(rated.size)
    settings = (
        bound.limit,
        bound.norm == "l2",
        PRIOR_RATING,
        PRIOR_RATINGS,
        MAX_RESIDUAL,
        places,
        bound.items.size,
        released,
    )
    threads = passes.threads_for(bound.pairs)
    return seal_rating_covariance(sum_over_users(pair_sums, rated, settings, (bound.pairs,), threads), bound)


def ratings_of(passes: LocalRunner, log: EventLog, bound: Bound[Bounded]) -> UserRatings:
    """Return the ratings of a log, which stay in memory between the stages of one release."""
    return passes.cached(log, bound.reading(log), lambda: read_ratings(log, passes))


def sum_over_users(
    kernel: Callable[..., None],
    rated: UserRatings,
    settings: tuple[Any, ...],
    shape: tuple[int, ...],
    threads: int,
) -> NDArray[np.int64]:
    """Run a kernel over shares of the users with about as many ratings each, and add up what they make."""
    cuts = np.linspace(0, rated.starts[-1], threads + 1).astype(np.int64)
    borders = np.searchsorted(rated.starts, cuts)
    borders[0], borders[-1] = 0, rated.users
    thread_sums = [np.zeros(shape, dtype=np.int64) for _ in range(threads)]

    def run(part: tuple[int, int], sums: NDArray[np.int64]) -> None:
        kernel(rated.starts, rated.items, rated.values, *part, *settings, sums)

    with parallel_map(threads, few=rated.items.size < FEW_ROWS) as mapped:
        list(mapped(run, itertools.pairwise(borders.tolist()), thread_sums))
    for part_sums in thread_sums[1:]:
        thread_sums[0] += part_sums
    return thread_sums[0]
