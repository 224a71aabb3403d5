"""How far off quantiles are: ``HEADCOUNT_DATA=… python -m benchmarks.quantiles [--runs 10] [--epsilon 1,0.1]``.

Our quantiles, all at once and of weighed records, against separate ones by OpenDP: its scores of candidates and its
best mechanism for choosing one (``make_quantile_score_candidates``, ``make_noisy_max``), each with an equal part of
the same ε, over the same candidates. OpenDP has no weights, so it gets at most ``limit`` random records of each
person, drawn anew in each run; with a limit of 1 that is one value per person. Ours pays for the number of people,
of records and a sum from the same ε as well.

The error is that of the rank: how far the share that was asked for is from the shares below and up to the value that
came out, in the exact distribution of weighed records; in thousandths, and the mean over all quantiles and runs.
Ours is seeded; OpenDP draws from the operating system. The logs must be public: nothing here is private. The tables
of docs/totals.md come from it.

No constant was tuned on these logs.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pyarrow.parquet as pq
from numpy.typing import NDArray

import headcount as hc
from headcount.bounding import FixedRange
from headcount.budget import Grant
from headcount.counts.asked import WHOLE, read_quantiles
from headcount.counts.quantiles import Points
from headcount.counts.totals import Totals
from headcount.engines.local import LocalEngine
from headcount.noise import SeededNoise

dp.enable_features("contrib")

Floats = NDArray[np.float64]
SHARES = {"users": "0.02", "records": "0.03", "sum": "0.05", "quantiles": "0.9"}


@dataclass(frozen=True)
class Column:
    """A column of values in a log, and the range that is declared for it."""

    log: str
    value: str
    low: int
    high: int


COLUMNS = (
    Column("uci-online-retail", "price", 0, 20),
    Column("uci-online-retail", "quantity", 0, 100),
    Column("hetrec-lastfm-plays", "plays", 0, 2000),
    Column("git-definitelytyped", "files", 0, 50),
    Column("movielens-1m", "rating", 1, 5),
    Column("movielens-1m", "age", 0, 100),
)


@dataclass(frozen=True)
class People:
    """Values at the points next to them, person after person."""

    points: Points
    cells: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, column: Column) -> People:
        path = Path(os.environ["HEADCOUNT_DATA"]) / f"{column.log}.parquet"
        rows = pq.read_table(path, columns=["user", column.value]).drop_null()
        users = rows["user"].to_numpy()
        order = np.argsort(users, kind="stable")
        points = Points.of(FixedRange(column.low, column.high, 1))
        cells = points.grid.cells_of(rows[column.value].to_numpy().astype(np.float64)[order])
        return cls(points, cells, np.flatnonzero(np.diff(users[order], prepend=-1)))

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(np.append(self.starts, self.cells.size))

    def weights(self, limit: int) -> Floats:
        """The exact weights at each point."""
        each = np.repeat(np.minimum(1.0, limit / self.sizes), self.sizes)
        return np.bincount(self.cells, each, minlength=self.points.steps + 1)

    def drawn(self, limit: int, generator: np.random.Generator) -> Floats:
        """At most ``limit`` random values of each person."""
        person = np.repeat(np.arange(self.sizes.size), self.sizes)
        order = np.lexsort((generator.random(self.cells.size), person))
        kept = np.arange(self.cells.size) - self.starts[person] < limit
        return np.asarray(self.points.values[self.cells[order][kept]])


def off(weights: Floats, asked: Sequence[int], cells: NDArray[np.int64]) -> Floats:
    """How far each share that was asked for is from the shares around the point that came out, in thousandths."""
    up_to = WHOLE * np.cumsum(weights) / weights.sum()
    below = up_to - WHOLE * weights / weights.sum()
    return np.maximum(np.maximum(below[cells] - asked, np.array(asked) - up_to[cells]), 0)


def by_opendp(
    values: Floats, points: Points, asked: Sequence[int], limit: int, epsilon: float
) -> NDArray[np.int64]:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    found = []
    for each in asked:
        scores = dp.t.make_quantile_score_candidates(*space, points.values.tolist(), each / WHOLE)
        moved = scores.map(limit)
        choice = dp.m.make_noisy_max(scores.output_domain, scores.output_metric, dp.max_divergence(), scale=1.0)
        scale = choice.map(moved) * len(asked) / epsilon
        best = dp.m.make_noisy_max(scores.output_domain, scores.output_metric, dp.max_divergence(), scale=scale)
        measurement = scores >> best
        assert measurement.map(limit) <= epsilon / len(asked) * (1 + 1e-9)
        found.append(measurement(values.tolist()))
    return np.array(found)


def by_ours(column: Column, asked: Sequence[int], limit: int, epsilon: str, runs: int, people: People) -> Floats:
    path = Path(os.environ["HEADCOUNT_DATA"]) / f"{column.log}.parquet"
    log = hc.read_events(path, user="user", item="item", value=column.value, value_range=(column.low, column.high))
    method, exact, errors = Totals(limit=limit, quantiles=tuple(asked), shares=SHARES), people.weights(limit), []
    engine = Remembering()
    for seed in range(runs):
        release = method.release(log, Grant(epsilon), SeededNoise(seed), engine)
        cells = people.points.grid.cells_of(release.tables["quantiles"]["value"].to_numpy())
        errors.append(off(exact, asked, cells))
    return np.array(errors)


class Remembering(LocalEngine):
    """Measures each bound once: nothing is drawn in them."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self._measured: dict[object, object] = {}

    def measure(self, log, bound, secret):  # type: ignore[no-untyped-def]
        if bound not in self._measured:
            self._measured[bound] = super().measure(log, bound, secret)
        return self._measured[bound]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", default="1,0.1")
    parser.add_argument("--limits", default="1,20")
    parser.add_argument("--quantiles", default="0.1,0.5,0.9")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    asked = read_quantiles(given.quantiles) or ()
    print("| values | limit | ε | Headcount | OpenDP | ratio |\n|---|---:|---:|---:|---:|---:|")
    ratios = []
    for column in COLUMNS:
        if given.only not in f"{column.log}, {column.value}":
            continue
        people = People.of(column)
        for limit in map(int, given.limits.split(",")):
            exact, generator = people.weights(limit), np.random.default_rng(1)
            for epsilon in given.epsilon.split(","):
                ours = by_ours(column, asked, limit, epsilon, given.runs, people).mean()
                theirs = np.mean(
                    [
                        off(
                            exact,
                            asked,
                            by_opendp(people.drawn(limit, generator), people.points, asked, limit, float(epsilon)),
                        )
                        for _ in range(given.runs)
                    ]
                )
                ratios.append(ours / theirs if theirs else 1.0 if ours == 0 else np.inf)
                print(
                    f"| {column.log}, {column.value} | {limit} | {epsilon} | {ours:.2f} | {theirs:.2f} | "
                    f"{ratios[-1]:.2f} |",
                    flush=True,
                )
    print(f"\nmean ratio {np.mean(ratios):.2f}, median {np.median(ratios):.2f}, worst {np.max(ratios):.2f}")


if __name__ == "__main__":
    main()
