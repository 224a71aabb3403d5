"""Entry point of Spark tasks: check the environment, then unpickle and run a step."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from headcount.engines.spark.environment import check_versions, errors_marked, prepare_cache, versions

Batches = Iterator[Any]


def task_of(step: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Return a step as a function for ``mapInArrow``; what it needs travels as bytes."""
    step_bytes, drivers = pickle.dumps(step), versions()

    def task(batches: Batches) -> Batches:
        return run(step_bytes, drivers, batches)

    return task


def run(step: bytes, drivers: Mapping[str, str], batches: Batches) -> Batches:
    """Run a step inside a task."""
    with errors_marked():
        check_versions(drivers)
        prepare_cache()
        yield from _opened(step)(batches)


@lru_cache(maxsize=2)
def _opened(step: bytes) -> Callable[[Batches], Batches]:
    """Open what was sent: once a worker, which Spark uses again for other partitions."""
    opened: Callable[[Batches], Batches] = pickle.loads(step)  # noqa: S301 - sent by our own driver
    return opened
