"""A program that measures a log on a Spark cluster with a straggler or a killed worker.

It measures the same file with the local engine and with Spark, and prints whether both are equal, and how many
attempts the first of Spark's tasks took.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from headcount.bounds import SampleRecords
from headcount.engines.local.engine import LocalEngine
from headcount.engines.spark import engine as spark_engine
from headcount.engines.spark import tasks
from headcount.engines.spark.engine import SparkEngine
from headcount.events.log import read_events


def slowed(folder: str, seconds: float) -> Any:
    """Return how tasks are made that say when they begin, the first of them far slower than the others."""
    own = tasks.task_of

    def task_of(step: Any) -> Any:
        honest = own(step)

        def task(batches: Any) -> Any:
            import os
            import time

            from pyspark import TaskContext

            task_context = TaskContext.get()
            place, attempt = (task_context.partitionId(), task_context.attemptNumber()) if task_context else (0, 0)
            with open(os.path.join(folder, f"{place}-{attempt}-{os.getpid()}"), "w"):
                pass
            if place == 0 and attempt == 0:
                time.sleep(seconds)
            yield from honest(batches)

        return task

    return task_of


def main(path: str, folder: str, seconds: str, conf: str) -> None:
    """Measure a file twice."""
    log = read_events(path, user="user", item="item", items="tea,rye")
    spark_engine.task_of = slowed(folder, float(seconds))  # type: ignore[attr-defined]
    engine = SparkEngine(partitions=6, conf=json.loads(conf))
    measured, wanted = (
        measuring_engine.measure(log, SampleRecords(3), bytes(range(16)))
        for measuring_engine in (engine, LocalEngine())
    )
    equal = measured.items.sensitive_values.tolist() == wanted.items.sensitive_values.tolist()
    attempts = len(list(Path(folder).glob("0-*")))
    sys.stdout.write(
        json.dumps({"equal": equal, "total": int(measured.items.sensitive_values.sum()), "attempts": attempts})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
