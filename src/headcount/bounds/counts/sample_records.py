"""Keep a uniform random sample of each user's records, or of the records of randomly admitted users."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.bounds.bounded import ALL_USERS
from headcount.bounds.counts.count_bound import CountBound
from headcount.errors import UsageError


@dataclass(frozen=True)
class SampleRecords(CountBound):
    """At most ``limit`` records of each user, drawn uniformly from that user's own history.

    >>> SampleRecords(3).sensitivity("records")
    Sensitivity(l1=3, l2_squared=9, linf=3)
    >>> SampleRecords(3).sensitivity("users")
    Sensitivity(l1=3, l2_squared=3, linf=1)
    """


@dataclass(frozen=True)
class SampleUsers(CountBound):
    """Some users, by lot with probability ``admission`` / 2^64 each; of these at most ``limit`` records.

    Whether a user is taken depends on that user's own secret draw. Nobody knows who is in, and that protects: see
    :func:`headcount.noise.laplace.epsilon_within`.

    >>> SampleUsers(3, 1 << 60).sensitivity("records")
    Sensitivity(l1=3, l2_squared=9, linf=3)
    """

    admission: int = ALL_USERS

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.admission) is not int or not 0 <= self.admission <= ALL_USERS:
            raise UsageError("admission must be a whole number between 0 and 2^64", given=self.admission)
