"""The base classes of all contribution bounds, and the constants that they share.

A bound is a frozen value. It limits what one user adds, sums over all users what they add, and seals the sums
with how far one user joining or leaving moves them. Each bound has one file: value, proof, sensitivity, columns to
read, measurement and seal. Engines run it and know no bound by name.

Every random choice inside a bound is drawn per record from the run's secret key, the raw user id, the record
itself and its number among that user's equal records. It depends on no other user, on no row order, and is the
same in every engine; see :mod:`headcount.bounds.draws`.
"""

from __future__ import annotations

from typing import ClassVar, Generic, Literal, TypeVar

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.errors import UsageError
from headcount.events.encode.passes import COUNTED, Reading
from headcount.events.log import EventLog

Measured_co = TypeVar("Measured_co", covariant=True)

Counting = Literal["records", "users"]
Norm = Literal["l1", "l2"]
CountTable = Literal["items", "edges"]
"""Which columns a user's records fall into: items, or items in contexts."""

FIXED_POINT = 1 << 16
"""How many units make one record where records are weighted: a weight w counts as floor(w · 2^16) of them."""

NO_SECRET = bytes(16)
"""What stands for the secret of a bound that draws nothing."""


class Bound(Generic[Measured_co]):
    """What one user may add to what is measured."""

    draws: ClassVar[bool] = True
    """Whether anything is drawn, for which a fresh secret is needed."""

    is_sum: ClassVar[bool] = True
    """Whether parts of the users can be measured apart, and their cells added up."""

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """Return what must be read of a log: by default items of the catalogue in their contexts."""
        return COUNTED

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Measured_co:
        """Add up, over all users, what the bound makes of each user's own records and draws, and seal it."""
        raise NotImplementedError


class VectorBound(Bound[Bounded]):
    """A bound whose measure is one array of sums, of which one user moves each by at most so much."""

    @property
    def unit(self) -> int:
        """How many units make one in these sums."""
        return 1

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the sums, None where it follows from the log."""
        return None

    def sensitivity(self, size: int) -> Sensitivity:
        """Return how far one user moves so many sums, in units. Every bound declares it: there is no default."""
        raise NotImplementedError

    def seal(self, sums: Integers) -> Bounded:
        """Turn sums over users into bounded values that noise accepts."""
        if self.shape is not None and sums.shape != self.shape:
            raise ValueError(f"{type(self).__name__} has sums of the shape {self.shape}, not {sums.shape}")
        return Bounded(sums, self.sensitivity(sums.size), SEAL, unit=self.unit)


def columns_of(log: EventLog, table: CountTable) -> int:
    """Return how many columns a table has, which is public."""
    return len(log.catalogue.ids) if table == "items" else log.cells


def check_limit(limit: int, name: str = "limit") -> None:
    """Refuse a limit that is not a positive whole number."""
    if type(limit) is not int or not 1 <= limit <= 2**31 - 1:
        raise UsageError(f"{name} must be a whole number of at least 1", given=limit, remedy=f"try {name} 10")
