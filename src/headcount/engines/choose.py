"""Choose the engine of a log: the given one, or the one that fits its source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headcount.engines.engine import Engine, Progress, silent
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.events.sources.frames import SparkSource


@contextmanager
def engine_for(log: EventLog, engine: Engine | None = None, progress: Progress = silent) -> Iterator[Engine]:
    """Give an engine for a log; one that is made here lets go of all it holds afterwards.

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
        yield LocalEngine(progress=progress)
