"""The job every contestant does, and how its time is taken; nothing but the standard library.

A contestant is a module with a function ``release(log, keys, epsilon)``: read the Parquet file ``log``, keep
at most ``LIMIT`` random records of each user, count per item and per (item, weekday) over the public keys,
add noise with half of epsilon for each table, and hand back both tables in memory. ``summary`` then says how
many rows each has and what they sum to. It is not timed, and shows that the right thing was computed: with a
huge epsilon both sums are Σ min(records of the user, LIMIT).

    python -m benchmarks.rivals.opendp LOG --keys FOLDER [--epsilon 1] [--warm-up SMALL_LOG] [--repeat 3]

prints one JSON document. The cold time and the peak memory are taken outside, over the whole process.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 10
ITEMS = 17_770
WEEKDAYS = 7
ITEM_KEYS = "items.parquet"
EDGE_KEYS = "edges.parquet"

Release = Callable[[Path, Path, float], Any]
Summary = Callable[[Any], list[tuple[int, float]]]


def main(release: Release, summary: Summary) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("--keys", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--warm-up", type=Path)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--patience", type=float, default=120.0, help="no further repeat after so many seconds")
    given = parser.parse_args()
    if given.warm_up is not None:
        release(given.warm_up, given.keys, given.epsilon)
    seconds: list[float] = []
    while not seconds or (len(seconds) < given.repeat and sum(seconds) < given.patience):
        started = time.perf_counter()
        tables = release(given.log, given.keys, given.epsilon)
        seconds.append(time.perf_counter() - started)
    print(json.dumps({"seconds": seconds, "tables": summary(tables)}))
