"""Search time of DPSense and DPSense-S: ``python -m benchmarks.performance.dpsense_search …``.

Whole releases of item counts from Parquet are timed, and the searches alone. On a small log plain loops over every
limit θ and factor α run beside the fast search, and must come to the same utilities.
"""

import argparse
import json
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import headcount as hc
from headcount.bounds import ActivityHistogram
from headcount.bounds.counts.record_cap import CappedRecords, RecordCap
from headcount.bounds.scores.candidate_scores import SCALE_PERCENTS, capped_total_scores, scaled_scores
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog

EPSILON = Fraction(9, 10)  # what the counts get of ε = 1
SMALL_USERS, SMALL_COLUMNS = 400, 120


def log_of(path: Path, catalogue: Path) -> EventLog:
    return hc.read_events(str(path), user="user", item="item", items=str(catalogue))


def release(log: EventLog, method: str) -> Any:
    return hc.release(log, epsilon="1", method=method)


def small_rows() -> CappedRecords:
    """Users with 1 to all columns, heavy-tailed, in the order of their number of records."""
    random = np.random.default_rng(1)
    sums = np.sort(np.minimum(random.zipf(1.3, SMALL_USERS), SMALL_COLUMNS)).astype(np.int64)
    columns = [random.choice(SMALL_COLUMNS, size, replace=False) for size in sums.tolist()]
    starts = np.concatenate([[0], np.cumsum(sums)])
    return CappedRecords(
        sums, starts, np.concatenate(columns).astype(np.int32), width=SMALL_COLUMNS, most=SMALL_COLUMNS
    )


def naive_distances(rows: CappedRecords) -> NDArray[np.float64]:
    """Σ_j |α c_j^θ - c_j| in records, as anyone would write it: users anew for each θ, columns for each α."""
    users = np.repeat(np.arange(rows.sums.size), rows.sums)
    matrix = np.zeros((rows.sums.size, rows.width))
    np.add.at(matrix, (users, rows.columns), 1)
    counts = matrix.sum(axis=0)
    distances = np.empty((rows.most, len(SCALE_PERCENTS)))
    for theta in range(1, rows.most + 1):
        limited = (matrix * np.minimum(1, theta / rows.sums)[:, None]).sum(axis=0)
        for at, hundredths in enumerate(SCALE_PERCENTS):
            distances[theta - 1, at] = np.abs(hundredths / 100 * limited - counts).sum()
    return distances


def compare_small() -> dict[str, float]:
    """Time both on a small log; gaps must agree but for the fixed point, relative to what one person can do."""
    rows = small_rows()
    scaled_scores(rows, EPSILON)
    started = time.perf_counter()
    fast = scaled_scores(rows, EPSILON)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    distances = naive_distances(rows)
    naive = time.perf_counter() - started
    penalties = np.outer(np.arange(1, rows.most + 1), np.array(SCALE_PERCENTS) / 100) * rows.width / float(EPSILON)
    utilities = -(distances + penalties).ravel()
    expected = (utilities.max() - utilities) / (2 * rows.most)
    if not np.allclose(fast.sensitive_gaps / fast.spread, expected, rtol=1e-4, atol=1e-4):
        sys.exit("the fast search and the naive one differ")
    return {"ours": ours, "naive": naive}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("--catalogue", type=Path)
    parser.add_argument("--warm-up", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    results: dict[str, Any] = {"small": compare_small()}
    for method in ("dpsense", "dpsense-s"):
        release(log_of(given.warm_up, given.catalogue), method)
        times = []
        for _ in range(given.repeat):
            started = time.perf_counter()
            released = release(log_of(given.log, given.catalogue), method)
            times.append(time.perf_counter() - started)
        results[method] = {"seconds": times, "chosen": released.chosen["items"]}
    log, engine = log_of(given.log, given.catalogue), LocalEngine()
    columns = len(log.catalogue.ids)
    rows = engine.measure(log, RecordCap("items", columns), bytes(16))
    activity = engine.measure(log, ActivityHistogram("items", columns), bytes(16))
    results["candidates"] = columns * len(SCALE_PERCENTS)
    results["search"] = {"dpsense-s": [], "dpsense": []}
    for _ in range(given.repeat):
        started = time.perf_counter()
        scaled_scores(rows, EPSILON)
        between = time.perf_counter()
        capped_total_scores(activity, columns, EPSILON)
        results["search"]["dpsense-s"].append(between - started)
        results["search"]["dpsense"].append(time.perf_counter() - between)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
