"""A reservation: a cost charged before any event is read, and its end (issued or refunded)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Protocol

from headcount.accounting.charges import Charge
from headcount.errors import UsageError
from headcount.ledger.accounts import Issued
from headcount.ledger.event_time_windows import Windows


class Keeper(Protocol):
    """The ledger that keeps a reservation."""

    def keep_anchored(self, reservation: Reservation) -> None:
        """See that the reservation is on the disk, outside of the database, too."""

    def keep_issued(self, reservation: Reservation, folder: str, digest: str, spent: Charge | None) -> Issued:
        """Note what was issued, and what it cost in the end where that is less than was reserved."""

    def keep_refunded(self, reservation: Reservation, reason: str) -> None:
        """Give the cost back."""


@dataclass
class Reservation:
    """A cost that is charged; call :meth:`data_read` before the first event is read, then issue.

    ``entry`` and ``head`` are the number and MAC of the journal entry, for ``release.json``.
    """

    ledger: Keeper = field(repr=False)
    entry: int
    head: str
    dataset: str
    version: str | None
    analyst: str
    charge: Charge
    state: str = "reserved"
    windows: Windows | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what a release says about its ledger."""
        return {"entry": self.entry, "head": self.head}

    def data_read(self) -> None:
        """Anchor the reservation on the disk, and give up the refund; only then may events be read."""
        if self.state not in ("reserved", "reading"):
            raise UsageError(f"reservation {self.entry} is {self.state} already")
        self.state = "reading"  # first: should anchoring fail, what is charged stays charged
        self.ledger.keep_anchored(self)

    def issue(self, folder: str | os.PathLike[str], digest: str, spent: Charge | None = None) -> Issued:
        """Note where the finished release is, and its digest; ``spent`` if that is less than was reserved.

        It may be less if a first stage, charged by itself, told that there was nothing to do for the others.
        """
        if self.state not in ("reading", "published"):
            raise UsageError(
                f"reservation {self.entry} is {self.state}, so nothing can be published for it",
                remedy="call data_read() before the data is read",
            )
        issued = self.ledger.keep_issued(self, str(folder), digest, spent)
        self.state = "published"
        return issued

    def refund(self, reason: str) -> None:
        """Give the cost back, because nothing was read; never possible after :meth:`data_read`."""
        if self.state != "reserved":
            raise UsageError(
                f"reservation {self.entry} is {self.state}: only what failed before any event was read is refunded"
            )
        self.ledger.keep_refunded(self, reason)
        self.state = "refunded"
