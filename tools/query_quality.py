"""How good answers to random queries are: ``python tools/query_quality.py adult|nltcs [--runs N]``.

Over 65,536 cells of a public grid, 10,000 queries that take every cell with probability 1/2, at ε = 1: the mean
error as a share of all people, where a group may have one record, and where it may have ten.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headcount.bounding import LinearQueries
from headcount.budget import Grant
from headcount.engines.local import LocalEngine
from headcount.events.grid import Grid
from headcount.events.people import read_people
from headcount.noise import SeededNoise
from headcount.queries.asked import Asked
from headcount.queries.choosing import Automatic
from headcount.queries.histogram import Histogram
from headcount.queries.mwem import MultiplicativeWeights
from headcount.queries.private_weights import PrivateWeights

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "histogram": (Histogram, {}),
    "consistent": (Histogram, {"consistent": True}),
    "mwem": (MultiplicativeWeights, {}),
    "pmw": (PrivateWeights, {}),
    "auto": (Automatic, {}),
}
ADULT: dict[str, Any] = {
    "age": {"from": 17, "to": 97, "bins": 16},
    "educational-num": {"from": 1, "to": 17, "bins": 16},
    "hours-per-week": {"from": 1, "to": 97, "bins": 16},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["adult", "nltcs"])
    parser.add_argument("--runs", type=int, default=8)
    given = parser.parse_args()
    folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    people = pq.read_table(folder / ("uci-adult.parquet" if given.name == "adult" else "nltcs.parquet"))
    bins: dict[str, Any] = {f"a{n}": {"values": [0, 1]} for n in range(16)}
    if given.name == "adult":
        jobs = sorted(set(people["occupation"].to_pylist()))  # known to everybody: the list of the census
        bins = {**ADULT, "occupation": {"values": jobs, "other": True}}
    log = read_people(people.append_column("id", pa.array(range(people.num_rows))), user="id")
    grid = Grid.of(bins)
    rows = np.random.default_rng(7).integers(0, 256, (10_000, 8_192), dtype=np.uint8)
    for reach in (1, 10):
        asked = Asked(grid=grid, rows=LinearQueries.from_bits(rows, grid.cells), max_records=reach)
        truth = asked.queries.counts(asked.count(log, LocalEngine(), bytes(16)).sensitive_values)
        for name, (kind, options) in METHODS.items():
            begin, errors = time.perf_counter(), []
            for seed in range(given.runs):
                release = kind(asked=asked, **options).release(log, Grant("1"), SeededNoise(seed))
                errors.append(np.abs(release.answers["answer"].to_numpy() - truth).mean() / people.num_rows)
            each = (time.perf_counter() - begin) / given.runs
            print(f"{reach:>2} records  {name:<11} {np.mean(errors):.5f}   {each:.1f} s each", flush=True)


if __name__ == "__main__":
    main()
