"""The base class of all contribution bounds, and the constants that they share.

A bound is a frozen value. An engine adds up, over all people, what the bound makes of each person's own records
and own draws; what comes out carries how far one person joining or leaving can move it. Each bound has a file here
that says what it keeps of a person, how much that can be, and what must be read for it.

Every random choice inside a bound is drawn per record from the run's secret key, the raw user id, the record
itself and its number among that user's equal records. It depends on nobody else, on no row order, and is the
same in every engine; see :mod:`headcount.bounds.draws`.
"""

from __future__ import annotations

from typing import ClassVar, Generic, Literal, TypeVar

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
    """What one person may add to what is measured."""

    draws: ClassVar[bool] = True
    """Whether anything is drawn, for which a fresh secret is needed."""

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """Say what must be read of a log: by default items of the catalogue in their contexts."""
        return COUNTED


def columns_of(log: EventLog, table: CountTable) -> int:
    """Return how many columns a table has, which is public."""
    return len(log.catalogue.ids) if table == "items" else log.cells


def check_limit(limit: int, name: str = "limit") -> None:
    """Refuse a limit that is not a positive whole number."""
    if type(limit) is not int or not 1 <= limit <= 2**31 - 1:
        raise UsageError(f"{name} must be a whole number of at least 1", given=limit, remedy=f"try {name} 10")
