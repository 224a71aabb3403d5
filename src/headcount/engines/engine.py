"""The engine protocol: measure a bound over a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from headcount.bounds import Bound, Measured_co
from headcount.events.log import EventLog

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, the rows done and the rows in all (None: unknown)."""


class Engine(Protocol):
    """Measures a log under a bound; draws hang on the secret as :mod:`headcount.bounds.draws` defines."""

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say whether bounds of a kind can be measured, without looking at data."""

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Add up, over all people, what the bound makes of each person's own records and own draws."""


@runtime_checkable
class SelectiveEngine(Protocol):
    """An engine that cannot read every log, or does not run everywhere."""

    def check(self, log: EventLog) -> None:
        """Refuse a log, or surroundings, before anything is reserved or read."""


def silent(stage: str, done: int, total: int | None) -> None:
    """Show no progress."""
