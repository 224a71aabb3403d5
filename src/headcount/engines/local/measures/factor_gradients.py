"""Local measurement of factor gradients."""

from __future__ import annotations

from headcount.bounds import (
    GRADIENT_NORM,
    MAX_FACTOR,
    MAX_RESIDUAL,
    PRIOR_RATING,
    PRIOR_RATINGS,
    PRODUCT_DIVISOR,
    Bounded,
    FactorGradients,
    seal_factor_gradients,
)
from headcount.engines.local.measures.rating_sums import ratings_of, sum_over_users
from headcount.engines.local.runner import LocalRunner
from headcount.events.log import EventLog


def measure_factor_gradients(passes: LocalRunner, log: EventLog, bound: FactorGradients, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up tastes times what was given, for each item, and products of tastes."""
    from headcount.bounds.ratings.kernels.factor_gradients import factor_gradient_sums

    rated = ratings_of(passes, log, bound)
    released = (bound.places(rated.size), bound.factors, bound.offsets)
    settings = (GRADIENT_NORM, PRIOR_RATING, PRIOR_RATINGS, MAX_RESIDUAL, MAX_FACTOR, PRODUCT_DIVISOR, *released)
    threads = passes.threads_for(bound.size)
    return seal_factor_gradients(
        sum_over_users(factor_gradient_sums, rated, settings, (bound.size,), threads), bound
    )
