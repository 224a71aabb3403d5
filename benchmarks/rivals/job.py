"""The job every contestant does, and how its time is taken; nothing but the standard library.

A contestant is a module with a function ``release(log, keys, epsilon)``: read the Parquet file ``log``, keep
at most ``LIMIT`` random records of each user, count per item and per (item, weekday) over the public keys,
add noise with half of epsilon for each table, and hand back both tables in memory. ``cells`` then names the
counts: numbers of cells, item or ``item * WEEKDAYS + weekday``, each with its count. It is not timed; its sums
show that the right thing was computed, since with a huge epsilon both are Σ min(records of the user, LIMIT), and
its counts how far off they are.

    python -m benchmarks.rivals.opendp LOG --keys FOLDER [--epsilon 1] [--warm-up SMALL_LOG] [--repeat 3]
                                       [--counts FOLDER]

prints one JSON document; with ``--counts``, every release's counts are written there as doubles, zero where a
contestant returned no such cell. The cold time and the peak memory are taken outside, over the whole process.
"""

import argparse
import json
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

LIMIT = 10
ITEMS = 17_770
WEEKDAYS = 7
ITEM_KEYS = "items.parquet"
EDGE_KEYS = "edges.parquet"
TABLES = {"items": ITEMS, "edges": ITEMS * WEEKDAYS}

Release = Callable[[Path, Path, float], Any]
Cells = Callable[[Any], list[Iterable[tuple[int, float]]]]


def counts_path(folder: Path, run: int, table: str) -> Path:
    """Where the counts of a release lie."""
    return folder / f"{run}-{table}.f64"


def main(release: Release, cells: Cells) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("--keys", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--warm-up", type=Path)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60.0, help="no further repeat after so many seconds")
    parser.add_argument("--counts", type=Path)
    given = parser.parse_args()
    if given.warm_up is not None:
        release(given.warm_up, given.keys, given.epsilon)
    seconds: list[float] = []
    while not seconds or (len(seconds) < given.repeat and sum(seconds) < given.patience):
        started = time.perf_counter()
        tables = release(given.log, given.keys, given.epsilon)
        seconds.append(time.perf_counter() - started)
        to = given.counts and [counts_path(given.counts, len(seconds) - 1, name) for name in TABLES]
        sums = totals(cells(tables), to)
    print(json.dumps({"seconds": seconds, "tables": sums}))


def totals(tables: Sequence[Iterable[tuple[int, float]]], to: list[Path] | None = None) -> list[tuple[int, float]]:
    """Rows and sum of each table; their counts are written if files are named."""
    sums = []
    for place, (cells, size) in enumerate(zip(tables, TABLES.values(), strict=True)):
        counts, rows = array("d", bytes(8 * size)), 0
        for cell, count in cells:
            counts[cell] = count
            rows += 1
        if to is not None:
            to[place].write_bytes(counts.tobytes())
        sums.append((rows, sum(counts)))
    return sums
