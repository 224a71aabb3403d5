"""Local measurement of centered co-occurrence."""

from __future__ import annotations

import numpy as np

from headcount.bounds import (
    COOCCURRENCE_FACTOR,
    COOCCURRENCE_NORM,
    Bounded,
    CenteredCooccurrence,
    seal_centered_cooccurrence,
)
from headcount.engines.local.measures.rating_sums import ratings_of, sum_over_users
from headcount.engines.local.runner import LocalRunner
from headcount.events.log import EventLog


def measure_centered_cooccurrence(
    passes: LocalRunner,
    log: EventLog,
    bound: CenteredCooccurrence,
    secret: bytes,  # noqa: ARG001
) -> Bounded:
    """Add up products over pairs of items of what people have, what is common taken out."""
    from headcount.bounds.ratings.kernels.centered_cooccurrence import centered_cooccurrence_sums

    rated = ratings_of(passes, log, bound)
    size, common = bound.items.size, bound.common.astype(np.int64)
    settings = (bound.places(rated.size), common, COOCCURRENCE_NORM, COOCCURRENCE_FACTOR)
    shape = (bound.pairs + size + 1,)
    sums = sum_over_users(centered_cooccurrence_sums, rated, settings, shape, passes.threads_for(bound.pairs))
    products, along, common_squared = sums[: bound.pairs], sums[bound.pairs : -1], sums[-1]
    first, second = np.triu_indices(size, 1)
    products = (
        products
        - along[first] * common[second]
        - along[second] * common[first]
        + common_squared * common[first] * common[second]
    )
    return seal_centered_cooccurrence(products, bound)
