"""Error of private item counts, by method: ``python -m benchmarks.quality.count_errors [--runs N]``.

The table of errors in docs/methods/index.md comes from it: the mean absolute error of the number of people per
item, for every method at a few limits, beside what releasing nothing but zeros would give. The logs are made up,
so the truth is known; with HEADCOUNT_DATA set to a folder with MovieLens-1M and others as Parquet, those are
measured too, with their own items as the catalogue. Never do this with a private log.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import headcount as hc
from headcount.lab.compare.metrics import mean_absolute_error
from headcount.lab.synthetic.logs import checkins, ratings
from headcount.methods.counts import FAMILY
from headcount.methods.family import needed_by

LIMITS = (10, 30, 100)
REAL = ("movielens-1m", "kosarak-prefix", "fimi-retail")


def settings() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every proven method of counts; LPA without a cut is SRA at the same limit."""
    for method in FAMILY.methods:
        if method == "sra":
            continue
        if "limit" not in needed_by(FAMILY.kind(method)):
            yield method, {"method": method}
            continue
        for limit in LIMITS:
            called = "lpa or sra" if method == "lpa" else method
            yield f"{called}, limit {limit}", {"method": method, "limit": limit}


def logs(folder: Path) -> Iterator[tuple[str, hc.EventLog, list[int]]]:
    """Each log with its name and how many people have each item of its catalogue."""
    city, films = checkins(folder), ratings(folder)
    yield described("check-ins", city.visits, "venue", city.venues)
    yield described("film ratings", films.ratings, "item", films.movies)
    for name in REAL:
        path = Path(os.environ.get("HEADCOUNT_DATA", ".")) / f"{name}.parquet"
        if path.exists():
            yield described(name, path, "item", None)


def described(name: str, path: Path, item: str, items: Any) -> tuple[str, hc.EventLog, list[int]]:
    """Count people per item, and describe the log."""
    pairs = pq.read_table(path, columns=["user", item]).group_by(["user", item]).aggregate([])
    people = Counter(pairs[item].to_pylist())
    catalogue = sorted(people) if items is None else items
    log = hc.read_events(path, user="user", item=item, items=catalogue, count="users")
    named = {str(item): count for item, count in people.items()}
    return name, log, [named.get(str(item), 0) for item in log.catalogue.ids]


def error(log: hc.EventLog, truth: list[int], epsilon: str, setting: dict[str, Any]) -> float:
    """The mean absolute error of one release."""
    counts = hc.release(log, epsilon=epsilon, **setting).items["count"].to_numpy()
    return mean_absolute_error(np.array(truth, dtype=np.float64), counts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how far private counts are from the true ones.")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = list(logs(Path(folder)))
        print(f"| method | {' | '.join(name for name, _, _ in measured)} |")
        print(f"|---|{'---:|' * len(measured)}")
        zeros = [statistics.mean(truth) for _, _, truth in measured]
        print(f"| nothing but zeros | {' | '.join(f'{error:.1f}' for error in zeros)} |")
        for label, setting in settings():
            errors = [
                statistics.mean(error(log, truth, given.epsilon, setting) for _ in range(given.runs))
                for _, log, truth in measured
            ]
            print(f"| {label} | {' | '.join(f'{error:.1f}' for error in errors)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
