"""The engine protocol: measure a bound over a log."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from headcount.bounds import Bound, Measured_co
from headcount.bounds.passes import Progress, silent
from headcount.events.log import EventLog

__all__ = ["Engine", "Progress", "SelectiveEngine", "silent"]


class Engine(Protocol):
    """Measures a log under a bound; draws follow from the secret as :mod:`headcount.bounds.draws` defines."""

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say whether bounds of a kind can be measured, without looking at data."""

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Add up, over all users, what the bound makes of each user's own records and draws."""


@runtime_checkable
class SelectiveEngine(Protocol):
    """An engine that cannot read every log, or does not run everywhere."""

    def check(self, log: EventLog) -> None:
        """Refuse a log, or surroundings, before anything is reserved or read."""
