"""The engine protocol, which measures a bound over a log, and the engine that fits a log's source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from headcount.bounds import Bound, Measured_co
from headcount.bounds.engine_interface import Progress, silent
from headcount.events.log import EventLog
from headcount.events.sources.frames import SparkSource

__all__ = ["Engine", "Progress", "SelectiveEngine", "engine_for", "silent"]


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


@contextmanager
def engine_for(log: EventLog, engine: Engine | None = None, progress: Progress = silent) -> Iterator[Engine]:
    """Give an engine for a log; one that is made here releases all it holds afterwards.

    >>> with engine_for(EventLog.of([("ann", "tea")], items=["tea"])) as engine:
    ...     type(engine).__name__
    'LocalEngine'
    """
    if engine is not None:
        yield engine
    elif isinstance(log.source, SparkSource):
        from headcount.engines.spark.engine import SparkEngine

        spark_engine = SparkEngine(progress=progress)
        try:
            yield spark_engine
        finally:
            spark_engine.close()
    else:
        from headcount.engines.local.engine import LocalEngine

        yield LocalEngine(progress=progress)
