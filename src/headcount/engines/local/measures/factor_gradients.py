"""Likings by the local engine: what people's tastes add to the items that they rated."""

from __future__ import annotations

from headcount.bounds import (
    FURTHEST_FACTOR,
    FURTHEST_RATING,
    LIKING_LENGTH,
    PRODUCTS,
    SHY,
    USUAL,
    Bounded,
    Likings,
    certify_likings,
)
from headcount.engines.local.measures.rating_sums import rated_of, summed
from headcount.engines.local.runner import Passes
from headcount.events.log import EventLog


def likings(passes: Passes, log: EventLog, bound: Likings, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up tastes times what was given, for each item, and products of tastes."""
    from headcount.bounds.ratings.kernels.factor_gradients import liking_sums

    rated = rated_of(passes, log, bound)
    known = (bound.places(rated.size), bound.factors, bound.offsets)
    asked = (LIKING_LENGTH, USUAL, SHY, FURTHEST_RATING, FURTHEST_FACTOR, PRODUCTS, *known)
    threads = passes.threads_for(bound.size)
    return certify_likings(summed(liking_sums, rated, asked, (bound.size,), threads), bound)
