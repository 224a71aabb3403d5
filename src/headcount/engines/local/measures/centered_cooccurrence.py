"""Departures from what is common, by the local engine: sums over what people have, put together once."""

from __future__ import annotations

import numpy as np

from headcount.bounds import DEPARTURE_FACTOR, DEPARTURE_LENGTH, Bounded, Departures, certify_departures
from headcount.engines.local.measures.rating_sums import rated_of, summed
from headcount.engines.local.runner import Passes
from headcount.events.log import EventLog


def departures(passes: Passes, log: EventLog, bound: Departures, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up products over pairs of items of what people have, what is common taken out."""
    from headcount.bounds.ratings.kernels.centered_cooccurrence import departure_sums

    rated = rated_of(passes, log, bound)
    size, common = bound.items.size, bound.common.astype(np.int64)
    asked = (bound.places(rated.size), common, DEPARTURE_LENGTH, DEPARTURE_FACTOR)
    shape = (bound.pairs + size + 1,)
    sums = summed(departure_sums, rated, asked, shape, passes.threads_for(bound.pairs))
    both, along, least = sums[: bound.pairs], sums[bound.pairs : -1], sums[-1]
    one, other = np.triu_indices(size, 1)
    both = both - along[one] * common[other] - along[other] * common[one] + least * common[one] * common[other]
    return certify_departures(both, bound)
