"""How far Spark is: tasks that are done, of the stages that run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headcount.engines.engine import Progress, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OFTEN = 0.5  # seconds between two looks


@contextmanager
def watched(session: SparkSession, progress: Progress, stage: str) -> Iterator[None]:
    """Tell how far Spark is, until what is done here is done."""
    if progress is silent:
        yield
        return
    tracker, over = session.sparkContext.statusTracker(), threading.Event()

    def look() -> None:
        while not over.wait(_OFTEN):
            infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            known = [each for each in infos if each is not None]
            if known:
                progress(stage, sum(each.numCompletedTasks for each in known), sum(e.numTasks for e in known))

    progress(stage, 0, None)
    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
