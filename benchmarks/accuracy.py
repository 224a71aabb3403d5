"""How accurate counts are: ``HEADCOUNT_DATA=… python -m benchmarks.accuracy [--runs N] [--logs A,B]``.

The adaptive method, the same for all logs, against every published method at the limit that is best in hindsight
on that log and for that error: all in one run, through the methods themselves. Errors are the mean squared error,
the mean absolute error, and KL as Fan and Jin define it. Seeded noise makes the figures reproducible; the laws are
those of real releases. The logs must be public: nothing here is private. The tables of docs/methods/adaptive.md
come from it.

"gs" is Headcount's own rigorous version of the published method and far better than that in KL; so ratios are
printed against all published methods, and against all but it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import headcount as hc
from headcount.budget import Grant
from headcount.engines.local import LocalEngine
from headcount.events.log import EventLog
from headcount.families import build
from headcount.lab.comparing.metrics import kl_divergence, mean_absolute_error, mean_squared_error
from headcount.noise import SeededNoise

Floats = NDArray[np.float64]

LOGS = (
    "movielens-1m", "foursquare-nyc", "gowalla-10core", "fimi-retail", "kosarak-prefix", "uci-online-retail",
    "git-homebrew-core",
)  # fmt: skip
LIMITS = (1, 2, 5, 10, 30, 100)
FIXED = tuple(1 << k for k in range(8))
LEANING = (0.25, 1.0)
ERRORS = {"MSE": mean_squared_error, "MAE": mean_absolute_error, "KL": kl_divergence}
DELTA = "1e-6"


@dataclass(frozen=True)
class Setting:
    """A method as it is run, and which group of rows it belongs to."""

    group: str
    label: str
    method: str
    parameters: dict[str, Any]
    delta: str | None = None


def settings() -> Iterator[Setting]:
    """Every published method at every limit, ours as it comes, and ours at fixed limits."""
    for method in ("sra", "hpa", "gs"):
        for limit in LIMITS:
            yield Setting("published", f"{method}, limit {limit}", method, {"limit": limit})
    yield Setting("published", "dpsense", "dpsense", {})
    yield Setting("ours", "adaptive", "adaptive", {})
    yield Setting("ours", f"adaptive, gaussian, δ = {DELTA}", "adaptive", {"noise": "gaussian"}, DELTA)
    for lean in LEANING:
        yield Setting("leaning", f"adaptive, lean {lean:g}", "adaptive", {"lean": lean})
    for limit in FIXED:
        yield Setting("fixed", f"adaptive, limit {limit}", "adaptive", {"limit": limit})


def described(name: str) -> tuple[EventLog, Floats]:
    """Return a log of different pairs of user and item, its items as the catalogue, and the people per item."""
    table = pq.read_table(Path(os.environ["HEADCOUNT_DATA"]) / f"{name}.parquet", columns=["user", "item"])
    pairs = table.drop_null().group_by(["user", "item"]).aggregate([])
    counts = pairs.group_by("item").aggregate([("user", "count")]).sort_by("item")
    items = [str(item) for item in counts["item"].to_pylist()]
    log = hc.read_events(pa.table(pairs), user="user", item="item", items=items, count="users")
    return log, counts["user_count"].to_numpy().astype(np.float64)


def measure(name: str, epsilon: str, runs: int) -> dict[str, dict[str, float]]:
    """Return the mean errors of every setting on one log, and how many true counts the intervals enclose."""
    log, truth = described(name)
    engine = LocalEngine()
    found: dict[str, dict[str, float]] = {}
    for setting in settings():
        rows, covered, totals = [], [], []
        for seed in range(runs):
            method = build(setting.method, {**setting.parameters, "what": "items"})
            table = method.release(log, Grant(epsilon, setting.delta), SeededNoise(seed), engine).items
            rows.append([error(truth, table["count"].to_numpy()) for error in ERRORS.values()])
            totals.append(table["count"].to_numpy().sum() / truth.sum())
            covered.append(((table["low"].to_numpy() <= truth) & (truth <= table["high"].to_numpy())).mean())
        means = np.mean(rows, axis=0).tolist()
        found[setting.label] = {
            **dict(zip(ERRORS, means, strict=True)),
            "covered": float(np.mean(covered)),
            "total": float(np.mean(totals)),
        }
        print(f"{name}: {setting.label}: {means}", file=sys.stderr, flush=True)
    return found


def ratio(found: dict[str, dict[str, float]], label: str, error: str, *, but: str | None = None) -> float:
    """Return an error of ours over that of the best published setting."""
    best = min(found[each.label][error] for each in settings() if each.group == "published" and each.method != but)
    return found[label][error] / best


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    return math.exp(sum(map(math.log, values)) / len(values))


def report(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print ratios to the best published method, what the choice of the limit costs, and coverage."""
    ours = [each.label for each in settings() if each.group == "ours"]
    for but, against in (("gs", "all published methods but gs"), (None, "all published methods")):
        print(f"\nRatios to the best of {against}, each at its best limit in hindsight\n")
        print("| log | " + " | ".join(f"{label}: {' / '.join(ERRORS)}" for label in ours) + " |")
        print("|---|" + "---|" * len(ours))
        every: dict[str, list[list[float]]] = {label: [] for label in ours}
        for name, found in results.items():
            cells = []
            for label in ours:
                each = [ratio(found, label, error, but=but) for error in ERRORS]
                every[label].append(each)
                cells.append(" / ".join(f"{value:.2f}" for value in each))
            print(f"| {name} | {' | '.join(cells)} |")
        means = [
            " / ".join(f"{geometric_mean(list(column)):.3f}" for column in zip(*every[label], strict=True))
            for label in ours
        ]
        print(f"| **geometric mean** | {' | '.join(means)} |")
    print(
        "\nThe limit chosen, against the best fixed one in hindsight (MSE), and true counts in intervals of 95 %\n"
    )
    print("| log | chosen / best | best limit | covered | covered, gaussian | sum of all counts / truth |")
    print("|---|---|---|---|---|---|")
    costs = []
    for name, found in results.items():
        fixed = {
            each.parameters["limit"]: found[each.label]["MSE"] for each in settings() if each.group == "fixed"
        }
        best = min(fixed, key=lambda limit: fixed[limit])
        costs.append(found[ours[0]]["MSE"] / fixed[best])
        covered = [f"{found[label]['covered']:.1%}" for label in ours]
        total = found[ours[0]]["total"]
        print(f"| {name} | {costs[-1]:.2f} | {best} | {' | '.join(covered)} | {total:.2f} |")
    print(f"| **geometric mean** | {geometric_mean(costs):.3f} | | | | |")
    for label in [setting.label for setting in settings() if setting.group == "leaning"]:
        ratios = [found[label]["MSE"] / found[ours[0]]["MSE"] for found in results.values()]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"\n{label}: MSE {geometric_mean(ratios):.2f} times that of lean 0, from {spread}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how accurate counts are, against all published methods.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", default="0.5")
    parser.add_argument("--logs", default=",".join(LOGS))
    parser.add_argument("--json", metavar="FILE", help="write all errors there")
    given = parser.parse_args()
    names = given.logs.split(",")
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = {name: pool.submit(measure, name, given.epsilon, given.runs) for name in names}
        results = {name: job.result() for name, job in jobs.items()}
    if given.json:
        Path(given.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(f"ε = {given.epsilon}, {given.runs} runs")
    report(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
