"""What the time of a release reveals about one user: ``python -m benchmarks.auditing.timing_side_channel``.

The table in docs/known-limits.md comes from it. One log is made up twice, with a person and without, and released
from in turn, in random order. An attacker who sees nothing but the time guesses which of the two logs it was, by a
threshold; the area under the curve of its hits and false alarms (AUC) says how well they do: 0.5 is guessing, 1 is
certainty. Time is what a clock shows, and what the processors were busy with this process, which other processes
disturb less. With ``--reading`` the log is read from a file, else it is in memory.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc

USERS, ITEMS, RECORDS_PER_USER = 2_000, 500, 50
TARGET_RECORDS = {"ordinary": RECORDS_PER_USER, "heavy": 5_000, "extreme": 100_000}
SETTINGS: dict[str, dict[str, Any]] = {
    "sra": {"method": "sra", "limit": 10},
    "hpa": {"method": "hpa", "limit": 10},
    "adaptive": {"method": "adaptive"},
    "dpsense": {"method": "dpsense"},
}


def crowd(records: int) -> pa.Table:
    """A made-up log, in which the first person has so many records; 0 if they are not there."""
    draw = np.random.default_rng(1)
    users = np.repeat(np.arange(1, USERS), RECORDS_PER_USER)
    items = draw.zipf(1.3, users.size) % ITEMS
    own = draw.integers(0, ITEMS, records)
    return pa.table({"user": np.append(np.zeros(records, np.int64), users), "item": np.append(own, items)})


def seconds(log: hc.EventLog, setting: dict[str, Any]) -> tuple[float, float]:
    """How long one release takes: by the clock, and of the processors."""
    begin, busy = time.perf_counter(), time.process_time()
    hc.release(log, epsilon="1", **setting)
    return time.perf_counter() - begin, time.process_time() - busy


def auc(present: Sequence[float], absent: Sequence[float]) -> float:
    """How often a run with the person takes longer than one without."""
    here, there = np.array(present), np.sort(np.array(absent))
    below = np.searchsorted(there, here, side="left") + np.searchsorted(there, here, side="right")
    return float(below.mean()) / (2 * there.size)


def error(runs: int) -> float:
    """The standard error of the AUC where time tells nothing."""
    return math.sqrt((2 * runs + 1) / (12 * runs * runs))


def measured(
    logs: dict[bool, Any], setting: dict[str, Any], runs: int, dice: random.Random
) -> dict[bool, list[tuple[float, float]]]:
    """Times with the person and without, in random order, after a few releases that are not counted."""
    for log in (*logs.values(),) * 3:
        seconds(log, setting)
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    turns = [True, False] * runs
    dice.shuffle(turns)
    for present in turns:
        times[present].append(seconds(logs[present], setting))
    return times


def logs_of(folder: Path, records: int, *, reading: bool) -> dict[bool, Any]:
    """The log with the person and without: in memory, or as Parquet files that are read by every release."""
    paths: dict[bool, Any] = {True: crowd(records), False: crowd(0)}
    if reading:
        for present, table in paths.items():
            paths[present] = folder / f"{records}-{present}.parquet"
            pq.write_table(table, paths[present])
    listed = list(range(ITEMS))
    return {present: hc.read_events(log, user="user", item="item", items=listed) for present, log in paths.items()}


def rows(runs: int, *, reading: bool) -> Iterator[str]:
    dice = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for who, records in TARGET_RECORDS.items():
            logs = logs_of(Path(folder), records, reading=reading)
            for name, setting in SETTINGS.items():
                times = measured(logs, setting, runs, dice)
                clock, busy = (
                    [[measured[kind] for measured in times[present]] for present in (True, False)]
                    for kind in (0, 1)
                )
                cells = [
                    f"{statistics.mean(times) * 1e3:.1f} ± {statistics.stdev(times) * 1e3:.1f}" for times in clock
                ]
                areas = [f"{auc(*times):.2f}" for times in (clock, busy)]
                yield f"| {who}, {records:,} | `{name}` | {' | '.join(cells + areas)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what the time of a release tells about one person.")
    parser.add_argument("--runs", type=int, default=300, help="releases of each of the two logs")
    parser.add_argument("--reading", action="store_true", help="read the log from a file in every release")
    given = parser.parse_args()
    print("| person, records | method | with them, ms | without, ms | AUC, clock | AUC, processors |")
    print("|---|---|---:|---:|---:|---:|")
    for row in rows(given.runs, reading=given.reading):
        print(row, flush=True)
    within = 2 * error(given.runs)
    print(f"\n{given.runs} runs each; where time tells nothing, 95 % of AUCs lie in 0.5 ± {within:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
