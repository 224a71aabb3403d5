"""Error of query answers by method and workload: ``python -m benchmarks.quality.query_workloads``.

Five workloads over four tables at ε = 1, pure or with δ: random queries that take every cell with probability
1/2; all marginals of one, two and three columns; and random ranges over up to three columns. Printed is the mean
error as a share of all people, of marginals their mean total variation: half of all errors of a marginal
together.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headcount.accounting.budget import Grant
from headcount.bounds import Bound, LinearQueries
from headcount.engines.local.engine import LocalEngine
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.user_table import read_people
from headcount.methods.queries.auto import Automatic
from headcount.methods.queries.histogram import Histogram
from headcount.methods.queries.mwem import MultiplicativeWeights
from headcount.methods.queries.private_multiplicative_weights import PrivateWeights
from headcount.methods.queries.residuals import Residuals
from headcount.methods.queries.workload import TableQueries
from headcount.noise import SeededNoise

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "histogram": (Histogram, {}),
    "consistent": (Histogram, {"consistent": True}),
    "residuals": (Residuals, {}),
    "fitted": (Residuals, {"consistent": True}),
    "mwem": (MultiplicativeWeights, {}),
    "pmw": (PrivateWeights, {}),
    "auto": (Automatic, {}),
}
PURE_ALONE = ("pmw",)
WORKLOADS = ("random", "1-way", "2-way", "3-way", "ranges")


class Once:
    """An engine that counts a table once: of one record a person, whatever is drawn, the cells are the same."""

    def __init__(self) -> None:
        self._engine, self._measured = LocalEngine(), dict[Any, Any]()

    def can(self, kind: type[Bound[Any]]) -> bool:
        return self._engine.can(kind)

    def measure(self, log: EventLog, bound: Any, secret: bytes) -> Any:
        if bound not in self._measured:
            self._measured[bound] = self._engine.measure(log, bound, secret)
        return self._measured[bound]


def adult(folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Four columns of the census, 16 bins each."""
    people = pq.read_table(folder / "uci-adult.parquet")
    jobs = sorted(set(people["occupation"].to_pylist()))  # known to everybody: the list of the census
    return people, {
        "age": {"from": 17, "to": 97, "bins": 16},
        "educational-num": {"from": 1, "to": 17, "bins": 16},
        "hours-per-week": {"from": 1, "to": 97, "bins": 16},
        "occupation": {"values": jobs, "other": True},
    }


def nltcs(folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    """16 questions of two values."""
    return pq.read_table(folder / "nltcs.parquet"), {f"a{n}": {"values": [0, 1]} for n in range(16)}


def census(folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Seven other columns of the census, of two to ten values."""
    people = pq.read_table(folder / "uci-adult.parquet")
    listed = ("workclass", "marital-status", "relationship", "race", "gender", "income")
    bins = {name: {"values": sorted(set(people[name].to_pylist()))} for name in listed}
    return people, {**bins, "capital-gain": {"edges": [0, 1, 5000, 100000]}}


def msweb(folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Whether people visited each of 14 pages: those with the lowest numbers."""
    visits = pq.read_table(folder / "msweb.parquet")
    pages = sorted(set(visits["item"].to_pylist()))[:14]
    users = np.unique(visits["user"].to_numpy())
    columns = {
        f"p{page}": np.isin(users, visits.filter(pc.field("item") == page)["user"].to_numpy()).astype(np.int8)
        for page in pages
    }
    return pa.table(columns), {name: {"values": [0, 1]} for name in columns}


TABLES: dict[str, Callable[[Path], tuple[pa.Table, dict[str, Any]]]] = {
    "adult": adult, "nltcs": nltcs, "census": census, "msweb": msweb
}  # fmt: skip


def marginals(grid: Grid, order: int) -> LinearQueries:
    """Every cell of every marginal of so many columns."""

    def masks() -> Any:
        for places in combinations(range(len(grid.bins)), order):
            for at in product(*(range(grid.shape[place]) for place in places)):
                mask = np.zeros(grid.shape, dtype=bool)
                inside: list[Any] = [slice(None)] * len(grid.bins)
                for place, value in zip(places, at, strict=True):
                    inside[place] = value
                mask[tuple(inside)] = True
                yield mask.ravel()

    return LinearQueries.from_masks(masks(), grid.cells)


def ranges(grid: Grid, queries: int = 2_000) -> LinearQueries:
    """Random ranges over three random columns, or all if these are fewer."""
    draw = np.random.default_rng(11)

    def masks() -> Any:
        for _ in range(queries):
            mask = np.zeros(grid.shape, dtype=bool)
            inside: list[Any] = [slice(None)] * len(grid.bins)
            for place in draw.permutation(len(grid.bins))[:3]:
                low, high = np.sort(draw.integers(0, grid.shape[place], 2))
                inside[place] = slice(low, high + 1)
            mask[tuple(inside)] = True
            yield mask.ravel()

    return LinearQueries.from_masks(masks(), grid.cells)


def workload(grid: Grid, name: str) -> tuple[LinearQueries, np.ndarray[Any, Any]]:
    """Return queries, and how much each weighs: in marginals, half over their number."""
    if name == "random":
        bits = np.random.default_rng(7).random((4_000, grid.cells), dtype=np.float32) < 0.5
        queries = LinearQueries.from_bits(np.packbits(bits, axis=1, bitorder="little"), grid.cells)
    elif name == "ranges":
        queries = ranges(grid)
    else:
        order = int(name[0])
        queries = marginals(grid, order)
        tables = len(list(combinations(grid.bins, order)))
        return queries, np.full(queries.size, 0.5 / tables)
    return queries, np.full(queries.size, 1 / queries.size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta")
    parser.add_argument("--records", type=int, default=1, help="the most records of a group")
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    methods = [name for name in given.methods.split(",") if not (given.delta and name in PURE_ALONE)]
    for table in given.tables:
        people, bins = TABLES[table](folder)
        log = read_people(people.append_column("id", pa.array(range(people.num_rows))), user="id")
        grid, engine = Grid.from_mapping(bins), Once()
        for asking in given.workloads.split(","):
            queries, weights = workload(grid, asking)
            request = TableQueries(grid=grid, rows=queries, max_records=given.records)
            truth = queries.counts(request.count(log, engine, bytes(16)).sensitive_values)
            for name in methods:
                kind, options = METHODS[name]
                if request.energies is None and kind is Residuals:
                    continue  # there are too many components to tell apart
                if asking == "random" and name == "residuals":
                    continue  # the histogram, nearly: there is nothing to leave out
                begin, errors, chosen = time.perf_counter(), [], set[str]()
                for seed in range(given.runs):
                    grant = Grant(given.epsilon, given.delta)
                    release = kind(table_queries=request, **options).release(log, grant, SeededNoise(seed), engine)
                    apart = np.abs(release.answers["answer"].to_numpy() - truth)
                    errors.append(float(apart @ weights) / people.num_rows)
                    choice = release.chosen.get("choice", {})
                    chosen.add(choice.get("method", "") + (", fitted" if choice.get("fits") else ""))
                seconds_per_run = (time.perf_counter() - begin) / given.runs
                print(
                    f"{table:<7} {asking:<7} {name:<11} {np.mean(errors):.5f} ± {np.std(errors):.5f}"
                    f"   {seconds_per_run:.1f} s each   {' or '.join(sorted(chosen))}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
