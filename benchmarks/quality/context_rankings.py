"""Recall of private top-k by context, and coverage of the intervals of item-context counts.

``HEADCOUNT_DATA=… python -m benchmarks.quality.context_rankings [--runs N] [--coverage] [LOG …]`` prints, for
public logs with their own items as catalogue, how much of the true top 20 of each context ``rank --per-context -k
20`` finds, on
average over contexts, and ``release`` with ``top --context`` at the same ε; people are counted, and the noise is
seeded. A context of which nothing is told finds nothing. With ``--coverage`` it prints how many true counts the
95 % intervals of a release's edges enclose: of all rows, of the true top 20 and of the published top 20 of each
context.
The tables in docs/rank.md and docs/methods/adaptive.md come from it. Never do this with a private log.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import headcount as hc
from headcount._internal.arrays import Flags, Integers
from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.methods.counts.adaptive import Adaptive
from headcount.methods.rankings.top_k import EVERYTHING, DirectTopK
from headcount.noise import SeededNoise
from headcount.releases.formatting import per_cent
from headcount.releases.release import Release

K = 20
EPSILONS = ("0.1", "0.5", "1", "2")
ENGINE = LocalEngine(threads=1)


def _values(column: str, **more: Any) -> Callable[[Any], dict[str, Any]]:
    """Read the contexts of a column, whose values are listed."""
    return lambda table: {
        "context": column, "contexts": ",".join(sorted({str(cell) for cell in table[column].to_pylist()})), **more,
    }  # fmt: skip


_MINUTES = "min@2012-04-03T18:00:00"

LOGS: dict[str, tuple[str, str, Callable[[Any], dict[str, Any]]]] = {
    "uci-online-retail by weekday": ("uci-online-retail", "item", lambda _: {"context": hc.weekday("timestamp")}),
    "foursquare-nyc by hour": (
        "foursquare-nyc", "item", lambda _: {"context": hc.hour("minute"), "time_format": _MINUTES},
    ),
    "movielens-1m by age": ("movielens-1m", "item", _values("age")),
    "movielens-1m by age of user": ("movielens-1m", "item", _values("age", context_of="user")),
    "movielens-1m by gender": ("movielens-1m", "item", _values("gender")),
    "movielens-100k by gender": ("movielens-100k", "item", _values("gender")),
    "git-homebrew-core by weekday": (
        "git-homebrew-core", "item", lambda _: {"context": hc.weekday("timestamp"), "time_format": "s"},
    ),
    "git-definitelytyped by weekday": (
        "git-definitelytyped", "item", lambda _: {"context": hc.weekday("timestamp"), "time_format": "s"},
    ),
    "hetrec-lastfm-tags by month": ("hetrec-lastfm-tags", "resource", lambda _: {"context": hc.month("date")}),
}  # fmt: skip
"""Of each log its file, the column of items, and how contexts are read."""


def opened(name: str) -> hc.EventLog:
    """Describe a log, with the items that are in it as catalogue."""
    file, item, reading = LOGS[name]
    table = pq.read_table(Path(os.environ.get("HEADCOUNT_DATA", ".")) / f"{file}.parquet")
    items = sorted(pc.unique(table[item].drop_null()).to_pylist())
    np.random.default_rng(1).shuffle(items)  # ids tell of popularity, and what is equal comes in this order
    return hc.read_events(table, user="user", item=item, items=items, count="users", **reading(table))


def truth_of(log: hc.EventLog) -> Integers:
    """Count the people of each item in each context."""
    counts: Integers = ENGINE.measure(log, EVERYTHING, bytes(16)).edges.sensitive_values[:, :-1]
    return counts


def ranked(log: hc.EventLog, epsilon: str, seed: int) -> Release:
    return DirectTopK(k=K, per_context=True).release(log, Grant(epsilon), SeededNoise(seed), ENGINE)


def released(log: hc.EventLog, epsilon: str, seed: int) -> Release:
    return Adaptive().release(log, Grant(epsilon), SeededNoise(seed), ENGINE)


def share_of_top(log: hc.EventLog, truth: Integers, release: Release) -> float:
    """Return how much of the top 20 is found, on average over contexts that somebody is in."""
    place = {item: at for at, item in enumerate(log.catalogue.column.to_pylist())}
    shares = []
    for at, context in enumerate(release.contexts or ()):
        least = max(1, int(np.sort(truth[:, at])[-K]))
        if truth[:, at].any():
            shares.append(sum(truth[place[row["item"]], at] >= least for row in release.top(K, context)) / K)
    return float(np.mean(shares))


def best(counts: NDArray[Any]) -> Integers:
    """Return the places of the 20 largest counts of each context."""
    return np.argsort(-counts, axis=0, kind="stable")[:K]


def covered(truth: Integers, release: Release) -> list[float]:
    """Return which share of true counts intervals enclose: of all, the true and the published top 20."""
    shape = truth.shape[0], truth.shape[1] + 1
    count, low, high = (release.edges[name].to_numpy().reshape(shape)[:, :-1] for name in ("count", "low", "high"))
    inside: Flags = (low <= truth) & (truth <= high)
    there = truth.any(axis=0)
    tops = (np.take_along_axis(inside, best(ranked_counts), axis=0)[:, there] for ranked_counts in (truth, count))
    return [float(covered_cells.mean()) for covered_cells in (inside, *tops)]


def print_recall(name: str, runs: int) -> None:
    log = opened(name)
    truth = truth_of(log)
    for epsilon in EPSILONS:
        recalls = np.array(
            [
                [share_of_top(log, truth, make(log, epsilon, seed)) for make in (ranked, released)]
                for seed in range(runs)
            ]
        )
        (rank, full), error = recalls.mean(axis=0), recalls.std(axis=0).max() / max(runs - 1, 1) ** 0.5
        ratio = f"{rank / full:.2f}" if full > 0 else "–"
        print(
            f"| {name} | {epsilon} | {per_cent(rank, 1)} | {per_cent(full, 1)} | {per_cent(error, 1)} | {ratio} |",
            flush=True,
        )


def print_covered(name: str, runs: int) -> None:
    log = opened(name)
    truth = truth_of(log)
    for epsilon in EPSILONS:
        coverages = [covered(truth, released(log, epsilon, seed)) for seed in range(runs)]
        print(
            f"| {name} | {epsilon} | {' | '.join(per_cent(share, 1) for share in np.mean(coverages, axis=0))} |",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what private rankings by context find.")
    parser.add_argument("logs", nargs="*", metavar="LOG", help="names, or parts of them; all by default")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--coverage", action="store_true", help="how well the intervals of edges hold")
    given = parser.parse_args()
    names = [name for name in LOGS if not given.logs or any(part in name for part in given.logs)]
    if given.coverage:
        print("| log | ε | all rows | true top 20 | published top 20 |\n|---|---|---:|---:|---:|")
    else:
        print("| log | ε | `rank` | `release` + `top` | ± | ratio |\n|---|---|---:|---:|---:|---:|")
    for name in names:
        (print_covered if given.coverage else print_recall)(name, given.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
