"""Headcount on Spark as a contestant: the job of rivals/job.py in local mode, one task slot a core.

It prints what rivals print, and the peak memory of the driver's Python process: ``driver``, in bytes. In local
mode Spark's executors share the Java process of the driver, so that its memory says nothing of a driver.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import headcount as hc
from benchmarks.comparison.headcount_job import cells
from benchmarks.harness.floor_comparison import CONTEXTS
from benchmarks.harness.logs import catalogue_path
from benchmarks.rivals.job import LIMIT, totals


def conf() -> dict[str, str]:
    cores = os.cpu_count() or 1
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": str(cores),
    }


def release(log: Path, epsilon: float, partitions: int | None) -> list[Any]:
    events = hc.read_events(
        log, user="user", item="item", context="weekday", contexts=CONTEXTS, items=str(catalogue_path("dense"))
    )
    engine = hc.SparkEngine(partitions=partitions, conf=conf())
    try:
        released = hc.release(events, epsilon=f"{epsilon:.10g}", method="sra", limit=LIMIT, engine=engine)
    finally:
        engine.close()
    return [released.items, released.edges]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--warm-up", type=Path)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--partitions", type=int)
    given = parser.parse_args()
    if given.warm_up is not None:
        release(given.warm_up, given.epsilon, given.partitions)
    seconds = []
    for _ in range(given.repeat):
        started = time.perf_counter()
        tables = release(given.log, given.epsilon, given.partitions)
        seconds.append(time.perf_counter() - started)
    driver = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "tables": totals(cells(tables)), "driver": driver}))


if __name__ == "__main__":
    main()
