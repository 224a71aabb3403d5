"""Report the progress of Spark: finished tasks of active stages."""

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
def report_progress(session: SparkSession, progress: Progress, stage: str) -> Iterator[None]:
    """Tell how far Spark is, until what is done here is done."""
    if progress is silent:
        yield
        return
    tracker, over = session.sparkContext.statusTracker(), threading.Event()

    def poll() -> None:
        while not over.wait(_OFTEN):
            infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            stages = [info for info in infos if info is not None]
            if stages:
                progress(
                    stage, sum(info.numCompletedTasks for info in stages), sum(info.numTasks for info in stages)
                )

    progress(stage, 0, None)
    watcher = threading.Thread(target=poll, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
