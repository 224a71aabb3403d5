"""How accurate counts are: ``HEADCOUNT_DATA=… python -m benchmarks.accuracy [--epsilon 0.5,0.1] [--count users]``.

The adaptive method, the same for all logs, against every published method at the limit that is best in hindsight
on that log and for that error: all in one run, through the methods themselves. People are counted, or records.
Errors are the mean squared error, the mean absolute error, and KL as Fan and Jin define it. Seeded noise makes the
figures reproducible; the laws are those of real releases. The logs must be public: nothing here is private. The
tables of docs/methods/adaptive.md come from it.

"gs" is Headcount's own rigorous version of the published method and far better than that in KL; so ratios are
printed against all published methods, with "gs" as we have it, and without it.

Constants were chosen on the logs of ``CHOSEN_ON``; all others, and the made-up shapes, confirm them.
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
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import headcount as hc
from benchmarks.shapes import SHAPES, made_up
from headcount.answers.words import per_cent
from headcount.bounding import Counting
from headcount.budget import Grant
from headcount.engines.local import LocalEngine
from headcount.events.log import EventLog
from headcount.families import build
from headcount.lab.comparing.metrics import kl_divergence, mean_absolute_error, mean_squared_error
from headcount.noise import SeededNoise

Floats = NDArray[np.float64]
Found = dict[str, dict[str, float]]

CHOSEN_ON = ("movielens-1m", "gowalla-10core", "kosarak-prefix", "uci-online-retail", "movielens-100k")
SEVEN = (
    "movielens-1m", "foursquare-nyc", "gowalla-10core", "fimi-retail", "kosarak-prefix", "uci-online-retail",
    "git-homebrew-core",
)  # fmt: skip
OTHERS = ("hetrec-lastfm-plays", "movielens-100k", "git-definitelytyped", "bms-webview-1", "msweb")
LIMITS = (1, 2, 5, 10, 30, 100)
ERRORS = {"MSE": mean_squared_error, "MAE": mean_absolute_error, "KL": kl_divergence}
DELTA = "1e-6"
TOP = 20
HEAVY = 1_000


@dataclass(frozen=True)
class Setting:
    """A method as it is run, and which group of rows it belongs to."""

    group: str
    label: str
    method: str
    parameters: dict[str, Any]
    delta: str | None = None


def settings() -> Iterator[Setting]:
    """Every published method at every limit, and ours as it comes."""
    for method in ("sra", "hpa", "gs", "gs-published"):
        for limit in LIMITS if method != "gs-published" else (None,):
            told = {} if limit is None else {"limit": limit}
            yield Setting("published", method if limit is None else f"{method}, limit {limit}", method, told)
    yield Setting("published", "dpsense", "dpsense", {})
    yield Setting("ours", "adaptive", "adaptive", {})
    yield Setting("ours", f"adaptive, gaussian, δ = {DELTA}", "adaptive", {"noise": "gaussian"}, DELTA)


@dataclass(frozen=True)
class Truth:
    """A log, the true counts of its items, and the share of records of people with fewer than a thousand."""

    log: EventLog
    counts: Floats
    light: float


def described(name: str, counting: Counting) -> Truth:
    """Describe a log with its own items as the catalogue; where people count, of different pairs alone."""
    table = rows_of(name)
    if counting == "users":
        table = table.group_by(["user", "item"]).aggregate([])
    counts = table.group_by("item").aggregate([("user", "count")]).sort_by("item")
    records = table.group_by("user").aggregate([("item", "count")])["item_count"].to_numpy()
    items = [str(item) for item in counts["item"].to_pylist()]
    log = hc.read_events(table, user="user", item="item", items=items, count=counting)
    light = records[records < HEAVY].sum() / records.sum()
    return Truth(log, counts["user_count"].to_numpy().astype(np.float64), float(light))


def rows_of(name: str) -> pa.Table:
    """Read the users and items of a log, or make it up."""
    if name in SHAPES:
        return made_up(name)
    path = Path(os.environ["HEADCOUNT_DATA"]) / f"{name}.parquet"
    return pq.read_table(path, columns=["user", "item"]).drop_null()


def measure(name: str, counting: Counting, epsilon: str, runs: int, known: Found) -> Found:
    """Return the mean errors of every setting on one log, and how well the intervals of ours hold."""
    truth, engine = described(name, counting), LocalEngine()
    found: Found = {"log": {"light": truth.light}}
    for setting in settings():
        if setting.group == "published" and setting.label in known:
            found[setting.label] = known[setting.label]
            continue
        every = [_once(setting, truth, epsilon, seed, engine) for seed in range(runs)]
        found[setting.label] = {each: float(np.mean([run[each] for run in every])) for each in every[0]}
        print(f"{name}, {counting}, ε = {epsilon}: {setting.label}: {found[setting.label]}", file=sys.stderr)
    return found


def _once(setting: Setting, truth: Truth, epsilon: str, seed: int, engine: LocalEngine) -> dict[str, float]:
    method = build(setting.method, {**setting.parameters, "what": "items"})
    table = method.release(truth.log, Grant(epsilon, setting.delta), SeededNoise(seed), engine).items
    counts = table["count"].to_numpy()
    found = {name: error(truth.counts, counts) for name, error in ERRORS.items()}
    found["total"] = float(counts.sum() / truth.counts.sum())
    if setting.group == "published":
        return found
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    inside = (low <= truth.counts) & (truth.counts <= high)
    true_top, own_top = (np.argsort(-each, kind="stable")[:TOP] for each in (truth.counts, counts))
    widths = (high - low)[own_top] / np.maximum(truth.counts[own_top], 1.0)
    return {
        **found,
        "all rows": float(inside.mean()),
        "true top": float(inside[true_top].mean()),
        "own top": float(inside[own_top].mean()),
        "width": float(np.median(widths)),
    }


def ratio(found: Found, label: str, error: str, *, but: str | None = None) -> float:
    """Return an error of ours over that of the best published setting."""
    best = min(found[each.label][error] for each in settings() if each.group == "published" and each.method != but)
    return found[label][error] / best


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    return math.exp(sum(map(math.log, values)) / len(values))


def report(results: dict[str, Found]) -> None:
    """Print ratios to the best published method, totals, and how well intervals hold."""
    ours = [each.label for each in settings() if each.group == "ours"]
    for label in ours:
        print(f"\n{label}\n")
        print(
            f"| log | {' / '.join(ERRORS)} against all | without gs | sum / truth | covered: all rows / true top "
            f"{TOP} / own top {TOP} | width |"
        )
        print("|---|---|---|---|---|---|")
        every: dict[str | None, list[list[float]]] = {None: [], "gs": []}
        for name, found in results.items():
            cells = []
            for but, seen in every.items():
                each = [ratio(found, label, error, but=but) for error in ERRORS]
                if name in SEVEN:
                    seen.append(each)
                cells.append(" / ".join(f"{value:.2f}" for value in each))
            own = found[label]
            cells.append(f"{own['total']:.2f}" + ("" if found["log"]["light"] >= 0.95 else " (bots)"))
            cells.append(" / ".join(per_cent(own[each], 1) for each in ("all rows", "true top", "own top")))
            print(f"| {name} | {' | '.join(cells)} | {own['width']:.2f} |")
        if every[None]:
            means = [
                " / ".join(f"{geometric_mean(list(column)):.3f}" for column in zip(*each, strict=True))
                for each in every.values()
            ]
            print(f"| **geometric mean of the seven** | {' | '.join(means)} | | | |")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how accurate counts are, against all published methods.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", default="0.5", help="one or more, with commas between")
    parser.add_argument("--count", default="users,records", help="what is counted: users, records or both")
    parser.add_argument("--logs", default=",".join((*SEVEN, *OTHERS, *SHAPES)))
    parser.add_argument("--json", metavar="FILE", help="write all errors there")
    parser.add_argument("--published", metavar="FILE", help="take the published methods' errors from such a file")
    given = parser.parse_args()
    known = json.loads(Path(given.published).read_text(encoding="utf-8")) if given.published else {}
    asked = [
        (counting, epsilon, name)
        for counting in get_args(Counting)
        for epsilon in given.epsilon.split(",")
        for name in given.logs.split(",")
        if counting in given.count.split(",")
    ]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = {
            each: pool.submit(measure, each[2], each[0], each[1], given.runs, known.get("|".join(each), {}))
            for each in asked
        }
        results = {each: job.result() for each, job in jobs.items()}
    if given.json:
        named = {"|".join(each): found for each, found in results.items()}
        Path(given.json).write_text(json.dumps(named, indent=1), encoding="utf-8")
    for counting, epsilon in dict.fromkeys(each[:2] for each in asked):
        print(f"\nby {'people' if counting == 'users' else counting}, ε = {epsilon}, {given.runs} runs")
        report({each[2]: found for each, found in results.items() if each[:2] == (counting, epsilon)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
