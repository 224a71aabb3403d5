"""Rating offsets: how far each item's ratings lie from their users' means, each user clipped to a norm.

Why one user moves no more than is said
    All of a user's numbers together are shortened to a length of at most ``limit`` stars in the norm and cut
    toward zero to whole units, so no user adds more. No number is longer than all together.
"""

from __future__ import annotations

from dataclasses import dataclass

from headcount.bounds.bound import Norm, check_limit
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.ratings.rating_bound import (
    MAX_RESIDUAL,
    PRIOR_RATING,
    PRIOR_RATINGS,
    UNITS_PER_STAR,
    RatingBound,
    ratings_of,
)
from headcount.events.log import EventLog


@dataclass(frozen=True)
class RatingOffsets(RatingBound):
    """How far a user's ratings lie from that user's own mean, item by item, and that they rated at all.

    With e the distance of a rating from the user's mean, ``PRIOR_RATINGS`` usual ratings included, each rated
    item gets (e / 0.9, 1/2), e at most two stars. All of a user's numbers together have a length of at most
    ``limit`` stars in the ``norm``; they are cut toward zero to whole units.

    >>> RatingOffsets(7, "l2").sensitivity(10)
    Sensitivity(l1=22668, l2_squared=51380224, linf=7168)
    """

    limit: int
    norm: Norm

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def unit(self) -> int:
        """Sums count 1/1024 of a star."""
        return UNITS_PER_STAR

    def sensitivity(self, size: int) -> Sensitivity:
        """Return how far one user moves so many sums."""
        length = self.limit * UNITS_PER_STAR
        return Sensitivity.of_l1(length) if self.norm == "l1" else Sensitivity.of_l2(length, size)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Add up how far ratings lie from their users' means, and halves for each, one row each."""
        from headcount.bounds.ratings.kernels import offset_sums

        rated = ratings_of(passes, log)
        settings = (self.limit * UNITS_PER_STAR, self.norm == "l2", PRIOR_RATING, PRIOR_RATINGS, MAX_RESIDUAL)
        return self.seal(self.sum_over_users(passes, rated, offset_sums, settings, (2, rated.size)))
