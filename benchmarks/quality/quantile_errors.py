"""Rank error of private quantiles, against OpenDP: ``python -m benchmarks.quality.quantile_errors [--runs 10]``.

Our quantiles, all at once and of weighed records, against separate ones by OpenDP (``make_private_quantile``),
each with an equal part of the same ε, over the same candidates. OpenDP has no weights, so it gets at most
``limit`` random records of each person, drawn anew in each run; with a limit of 1 that is one value per person.
Ours pays for the number of people, of records and a sum from the same ε as well, with a hundredth each.

The error is that of the rank: how far the share that was asked for is from the shares below and up to the value
that came out, in the exact distribution of weighed records; in thousandths, and the mean over all quantiles and
runs. "Without noise" is what OpenDP's is at a large ε: the error of the draw and, where many records hold one
value, that of its scores, which leave out what is equal to a candidate. Ours is seeded; OpenDP draws from the
operating system, so that another run prints other ratios. The logs must be public: nothing here is private. The
tables of docs/totals.md come from it.

Before anything is compared, both must find the quantiles of a plain list at a large ε: a rival that is called
wrongly would make any ratio look good. No constant was tuned on these logs.
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
from headcount.accounting.budget import Grant
from headcount.bounds.values.user_totals import FixedRange
from headcount.engines.local.engine import LocalEngine
from headcount.methods.totals.quantile_targets import WHOLE, read_quantiles
from headcount.methods.totals.quantiles import Points
from headcount.methods.totals.totals import Totals
from headcount.noise import SeededNoise

dp.enable_features("contrib")

Floats = NDArray[np.float64]
SHARES = {"users": "0.01", "records": "0.01", "sum": "0.01", "quantiles": "0.97"}


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
class UserValues:
    """Values at the points next to them, person after person."""

    points: Points
    cells: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def from_column(cls, column: Column) -> UserValues:
        path = Path(os.environ["HEADCOUNT_DATA"]) / f"{column.log}.parquet"
        rows = pq.read_table(path, columns=["user", column.value]).drop_null()
        users = rows["user"].to_numpy()
        order = np.argsort(users, kind="stable")
        points = Points.spanning(FixedRange(column.low, column.high, 1))
        cells = points.grid.cells_of(rows[column.value].to_numpy().astype(np.float64)[order])
        return cls(points, cells, np.flatnonzero(np.diff(users[order], prepend=-1)))

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(np.append(self.starts, self.cells.size))

    def weights(self, limit: int) -> Floats:
        """The exact weights at each point."""
        record_weights = np.repeat(np.minimum(1.0, limit / self.sizes), self.sizes)
        return np.asarray(
            np.bincount(self.cells, record_weights, minlength=self.points.steps + 1), dtype=np.float64
        )

    def drawn(self, limit: int, generator: np.random.Generator) -> Floats:
        """At most ``limit`` random values of each person."""
        person = np.repeat(np.arange(self.sizes.size), self.sizes)
        order = np.lexsort((generator.random(self.cells.size), person))
        kept = np.arange(self.cells.size) - self.starts[person] < limit
        return np.asarray(self.points.values[self.cells[order][kept]])


def rank_errors(weights: Floats, quantiles: Sequence[int], cells: NDArray[np.int64]) -> Floats:
    """How far each share that was asked for is from the shares around the point that came out, in thousandths."""
    up_to = WHOLE * np.cumsum(weights) / weights.sum()
    below = up_to - WHOLE * weights / weights.sum()
    return np.asarray(np.maximum(np.maximum(below[cells] - quantiles, np.array(quantiles) - up_to[cells]), 0))


def by_opendp(
    values: Floats, points: Points, quantiles: Sequence[int], limit: int, epsilon: float
) -> NDArray[np.int64]:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance(), dp.max_divergence()
    cutoffs, candidates = [], points.values.tolist()
    for quantile in quantiles:
        at_one = dp.m.make_private_quantile(*space, candidates, quantile / WHOLE, scale=1.0).map(limit)
        scale = at_one * len(quantiles) / epsilon
        measurement = dp.m.make_private_quantile(*space, candidates, quantile / WHOLE, scale=scale)
        assert measurement.map(limit) <= epsilon / len(quantiles) * (1 + 1e-9)
        cutoffs.append(measurement(values.tolist()))
    return points.grid.cells_of(np.array(cutoffs))


def check_rival() -> None:
    """See that OpenDP is called as it should be: without noise to speak of, it finds the quantiles."""
    points, quantiles = Points.spanning(FixedRange(0, 1000, 1)), (100, 500, 900)
    cells = by_opendp(np.arange(1, 1000).astype(np.float64), points, quantiles, 1, 1e4)
    if np.abs(points.values[cells] - quantiles).max() > 1:
        raise SystemExit(f"OpenDP finds {points.values[cells]} in place of {quantiles}: it is called wrongly")


def by_ours(
    column: Column, quantiles: Sequence[int], limit: int, epsilon: str, runs: int, users: UserValues
) -> Floats:
    path = Path(os.environ["HEADCOUNT_DATA"]) / f"{column.log}.parquet"
    log = hc.read_events(path, user="user", item="item", value=column.value, value_range=(column.low, column.high))
    method, exact, errors = (
        Totals(limit=limit, quantiles=tuple(quantiles), shares=SHARES),
        users.weights(limit),
        [],
    )
    engine = Remembering()
    for seed in range(runs):
        release = method.release(log, Grant(epsilon), SeededNoise(seed), engine)
        cells = users.points.grid.cells_of(release.tables["quantiles"]["value"].to_numpy())
        errors.append(rank_errors(exact, quantiles, cells))
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
    quantiles = read_quantiles(given.quantiles) or ()
    check_rival()
    print(
        "| values | limit | ε | Headcount | OpenDP | without noise | ratio |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    ratios = []
    for column in COLUMNS:
        if given.only not in f"{column.log}, {column.value}":
            continue
        users = UserValues.from_column(column)
        for limit in map(int, given.limits.split(",")):
            drawn = opendp_error(users, quantiles, limit, 1e6, given.runs)
            for epsilon in given.epsilon.split(","):
                ours = by_ours(column, quantiles, limit, epsilon, given.runs, users).mean()
                theirs = opendp_error(users, quantiles, limit, float(epsilon), given.runs)
                ratio = ours / theirs if theirs else float("nan")
                ratios.append(ratio)
                numbers = f"{ours:.2f} | {theirs:.2f} | {drawn:.2f} | {ratio:.2f}"
                print(f"| {column.log}, {column.value} | {limit} | {epsilon} | {numbers} |", flush=True)
    defined = np.array([ratio for ratio in ratios if not np.isnan(ratio)])
    print(
        f"\n{defined.size} of {len(ratios)} where OpenDP is off at all: mean ratio {defined.mean():.2f}, median "
        f"{np.median(defined):.2f}, worst {defined.max():.2f}, above 0.5 in {np.count_nonzero(defined > 0.5)}"
    )


def opendp_error(users: UserValues, quantiles: Sequence[int], limit: int, epsilon: float, runs: int) -> float:
    """The mean error of OpenDP, with another draw of records in each run."""
    exact, generator = users.weights(limit), np.random.default_rng(1)
    errors = [
        rank_errors(
            exact, quantiles, by_opendp(users.drawn(limit, generator), users.points, quantiles, limit, epsilon)
        )
        for _ in range(runs)
    ]
    return float(np.mean(errors))


if __name__ == "__main__":
    main()
