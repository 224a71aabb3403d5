"""Ledger locations for tests: a SQLite file or a PostgreSQL database."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from headcount.ledger import Charge, Ledger, Reservation

KINDS = ("sqlite", "postgresql")
COUNTER = itertools.count()


@dataclass
class Place:
    """Where a ledger, its key and its anchor are."""

    url: str
    folder: Path
    opened: list[Ledger] = field(default_factory=list)

    @property
    def key(self) -> Path:
        return self.folder / "secret" / "key"

    @property
    def anchor(self) -> Path:
        return self.folder / "secret" / "anchor"

    def open(self, *, upgrade: bool = False, like: Place | None = None) -> Ledger:
        """Open the ledger here, with the key and the anchor of another place if need be."""
        secrets = like or self
        ledger = Ledger(self.url, key=secrets.key, anchor=secrets.anchor, upgrade=upgrade)
        self.opened.append(ledger)
        return ledger

    def close(self) -> None:
        for ledger in self.opened:
            ledger.close()

    @property
    def arguments(self) -> list[str]:
        return [self.url, str(self.key), str(self.anchor)]


NewPlace = Callable[[str], Place]


def cost(epsilon: str, delta: str = "0", rho: str | None = None) -> Charge:
    return Charge(Decimal(epsilon), Decimal(delta), None if rho is None else Decimal(rho))


def reserve(
    ledger: Ledger,
    charge: Charge | str,
    *,
    analyst: str = "ann",
    request: str = '{"k":10}',
    version: str | None = "w1",
    again: bool = True,
    dataset: str = "visits",
) -> Reservation:
    """Reserve, expecting a reservation."""
    price = cost(charge) if isinstance(charge, str) else charge
    reservation = ledger.reserve(dataset, version, analyst, request, "catalogue-1", price, again=again)
    assert isinstance(reservation, Reservation)
    return reservation


def spend(ledger: Ledger, charge: Charge | str, *, folder: str = "out/", **options: str) -> Reservation:
    """Reserve, read and publish."""
    reservation = reserve(ledger, charge, **options)  # type: ignore[arg-type]
    reservation.data_read()
    reservation.issue(folder, "digest-1")
    return reservation
