"""Scaling of release time with the size of the log: ``python -m benchmarks.performance.scaling``.

One thing grows a hundredfold while all others stay: records, people, items, the limit, or contexts. At each of
five sizes a log of its own is released from Parquet several times, warm, sizes in turns; the exponent is the slope
of the straight line through the medians, both axes logarithmic. One means: twice as much takes twice as long.

Prints one JSON document. ``--quick`` has a tenth of the records.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.harness.logs import DATA

STEPS = 5
ROUNDS = 5
METHODS = ("sra", "adaptive")


@dataclass(frozen=True)
class Shape:
    """A log, and the limit it is released with."""

    records: int = 5_000_000
    users: int = 50_000
    items: int = 5_000
    contexts: int = 7
    limit: int = 10

    @property
    def path(self) -> Path:
        return DATA / f"costs-{self.records}-{self.users}-{self.items}-{self.contexts}.parquet"


# from where a thing grows, and what else differs from the usual shape: cells and people must stay within reason
GROWN: dict[str, tuple[int, Shape]] = {
    "records": (400_000, Shape()),
    "users": (5_000, Shape()),
    "items": (1_000, Shape()),
    "limit": (1, Shape()),
    "contexts": (2, Shape(items=500)),
}


def sizes(least: int) -> list[int]:
    """Five sizes over two decades.

    >>> sizes(10)
    [10, 32, 100, 316, 1000]
    """
    return [round(least * 10 ** (2 * step / (STEPS - 1))) for step in range(STEPS)]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of the line through the points, both axes logarithmic.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 9)
    1.0
    """
    return statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, seconds)]).slope


def write(shape: Shape) -> None:
    """Write a log whose people and items are of unequal activity and popularity, its rows in random order."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(25)
    unfinished = shape.path.with_suffix(".unfinished")
    schema = pa.schema([("user", pa.int32()), ("item", pa.int32()), ("context", pa.int16())])
    with pq.ParquetWriter(unfinished, schema, use_dictionary=["item", "context"]) as writer:
        for begin in range(0, shape.records, 1_000_000):
            rows = min(1_000_000, shape.records - begin)
            columns = [
                (shape.users * random.random(rows) ** 2).astype(np.int32),
                (shape.items * random.random(rows) ** 3).astype(np.int32),
                random.integers(0, shape.contexts, rows).astype(np.int16),
            ]
            writer.write_table(pa.table(columns, schema=schema))
    unfinished.rename(shape.path)


def releasing(shape: Shape, method: str) -> Callable[[], object]:
    """What is timed: from the file to the released tables."""
    import headcount as hc

    items, contexts = [str(item) for item in range(shape.items)], list(range(shape.contexts))
    limit = None if method == "adaptive" else shape.limit

    def release() -> object:
        events = hc.read_events(
            str(shape.path), user="user", item="item", context="context", contexts=contexts, items=items
        )
        return hc.release(events, epsilon="1", method=method, limit=limit)

    return release


def curve(grown: str, method: str, shrunk: int) -> dict[str, Any]:
    """Times at all sizes, and their exponent."""
    least, usual = GROWN[grown]
    usual = replace(usual, records=usual.records // shrunk)
    least = least // shrunk if grown == "records" else least
    shapes = {size: replace(usual, **{grown: size}) for size in sizes(least)}
    for shape in shapes.values():
        if not shape.path.exists():
            write(shape)
    releases = {size: releasing(shape, method) for size, shape in shapes.items()}
    for release in releases.values():
        release()
    seconds: dict[int, list[float]] = {size: [] for size in shapes}
    for _ in range(ROUNDS):
        for size, release in releases.items():
            started = time.perf_counter()
            release()
            seconds[size].append(time.perf_counter() - started)
    medians = [statistics.median(times) for times in seconds.values()]
    return {
        "grown": grown,
        "method": method,
        "sizes": list(shapes),
        "seconds": list(seconds.values()),
        "medians": medians,
        "exponent": exponent(list(shapes), medians),
        "last decade": exponent(list(shapes)[-3:], medians[-3:]),
        "usual": asdict(usual),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.scaling", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(GROWN), default=list(GROWN))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    curves = []
    for grown in given.only:
        for method in given.methods:
            if grown == "limit" and method == "adaptive":
                continue  # it finds its own
            curves.append(curve(grown, method, 10 if given.quick else 1))
            print(f"{grown}, {method}: {curves[-1]['exponent']:.2f}", file=sys.stderr, flush=True)
    print(json.dumps({"curves": curves, "cores": os.cpu_count()}))


if __name__ == "__main__":
    main()
