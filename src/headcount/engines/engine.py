"""What an engine is: an interpreter of bounds over logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from headcount.bounding import Bound, BoundedCounts
from headcount.events.log import EventLog

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, the rows done and the rows in all (None: unknown)."""


class Engine(Protocol):
    """Counts a log under a bound; draws hang on the secret as :mod:`headcount.engines.draws` defines."""

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Keep what the bound allows of each user's records and count it per item, and per item and context."""


def silent(stage: str, done: int, total: int | None) -> None:
    """Show no progress."""
