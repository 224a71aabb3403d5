"""Error of item counts, adaptive against published methods: ``python -m benchmarks.quality.count_accuracy``.

The adaptive method, the same for all logs, against every published method at the limit that is best in hindsight
on that log and for that error: all in one run, through the methods themselves. People are counted, or records.
Errors are the mean squared error, the mean absolute error, and KL as Fan and Jin define it. Seeded noise makes the
figures reproducible; the laws are those of real releases. The logs must be public: nothing here is private. The
tables of docs/methods/adaptive.md come from it.

"gs" is Headcount's own rigorous version of the published method and far better than that in KL; so ratios are
printed against all published methods, with "gs" as we have it, and without it.

With ``--at-most 1000,100`` only our intervals are looked at, of what counts under such public caps.

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
from benchmarks.quality.synthetic_logs import SHAPES, make_log
from headcount.accounting.budget import Grant
from headcount.bounds import Counting
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.compare.metrics import kl_divergence, mean_absolute_error, mean_squared_error
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.releases.formatting import per_cent

Floats = NDArray[np.float64]
ErrorsBySetting = dict[str, dict[str, float]]

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
            options = {} if limit is None else {"limit": limit}
            yield Setting("published", method if limit is None else f"{method}, limit {limit}", method, options)
    yield Setting("published", "dpsense", "dpsense", {})
    yield Setting("ours", "adaptive", "adaptive", {})
    yield Setting("ours", f"adaptive, gaussian, δ = {DELTA}", "adaptive", {"noise": "gaussian"}, DELTA)


@dataclass(frozen=True)
class Truth:
    """A log, the true counts of its items, and the share of records of people with fewer than a thousand."""

    log: EventLog
    counts: Floats
    light: float


def described(name: str, counting: Counting, at_most: int | None = None) -> Truth:
    """Describe a log with its own items as the catalogue; where people count, of different pairs alone.

    Of people with more than ``at_most`` records all count in part, so that together they count as so many.
    """
    table = rows_of(name)
    if counting == "users":
        table = table.group_by(["user", "item"]).aggregate([])
    users = table["user"].combine_chunks().dictionary_encode().indices.to_numpy()
    records = np.bincount(users)
    record_weights = np.minimum(1.0, (at_most or records.max()) / records)[users]
    counts = (
        table.append_column("each", pa.array(record_weights))
        .group_by("item")
        .aggregate([("each", "sum")])
        .sort_by("item")
    )
    items = [str(item) for item in counts["item"].to_pylist()]
    log = hc.read_events(table, user="user", item="item", items=items, count=counting)
    light = records[records < HEAVY].sum() / records.sum()
    return Truth(log, counts["each_sum"].to_numpy(), float(light))


def rows_of(name: str) -> pa.Table:
    """Read the users and items of a log, or make it up."""
    if name in SHAPES:
        return make_log(name)
    path = Path(os.environ["HEADCOUNT_DATA"]) / f"{name}.parquet"
    return pq.read_table(path, columns=["user", "item"]).drop_null()


def measure(name: str, counting: Counting, epsilon: str, runs: int, published: ErrorsBySetting) -> ErrorsBySetting:
    """Return the mean errors of every setting on one log, and how well the intervals of ours hold."""
    truth, engine = described(name, counting), LocalEngine()
    errors: ErrorsBySetting = {"log": {"light": truth.light}}
    for setting in settings():
        if setting.group == "published" and setting.label in published:
            errors[setting.label] = published[setting.label]
            continue
        every = [_once(setting, truth, epsilon, seed, engine) for seed in range(runs)]
        errors[setting.label] = {
            statistic: float(np.mean([run[statistic] for run in every])) for statistic in every[0]
        }
        print(f"{name}, {counting}, ε = {epsilon}: {setting.label}: {errors[setting.label]}", file=sys.stderr)
    return errors


def _once(setting: Setting, truth: Truth, epsilon: str, seed: int, engine: LocalEngine) -> dict[str, float]:
    method = build(setting.method, {**setting.parameters, "what": "items"})
    table = method.release(truth.log, Grant(epsilon, setting.delta), SeededNoise(seed), engine).items
    counts = table["count"].to_numpy()
    errors = {name: error(truth.counts, counts) for name, error in ERRORS.items()}
    errors["total"] = float(counts.sum() / truth.counts.sum())
    if setting.group == "published":
        return errors
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    inside = (low <= truth.counts) & (truth.counts <= high)
    true_top, own_top = (
        np.argsort(-ranked_counts, kind="stable")[:TOP] for ranked_counts in (truth.counts, counts)
    )
    widths = (high - low)[own_top] / np.maximum(truth.counts[own_top], 1.0)
    return {
        **errors,
        "all rows": float(inside.mean()),
        "true top": float(inside[true_top].mean()),
        "own top": float(inside[own_top].mean()),
        "width": float(np.median(widths)),
    }


def measure_capped(name: str, counting: Counting, epsilon: str, runs: int, at_most: int) -> dict[str, float]:
    """Return how well our intervals hold under a public cap, for what counts under it."""
    setting = Setting("ours", "adaptive", "adaptive", {"at_most": at_most})
    truth, engine = described(name, counting, at_most), LocalEngine()
    every = [_once(setting, truth, epsilon, seed, engine) for seed in range(runs)]
    return {statistic: float(np.mean([run[statistic] for run in every])) for statistic in every[0]}


def ratio(errors: ErrorsBySetting, label: str, error: str, *, but: str | None = None) -> float:
    """Return an error of ours over that of the best published setting."""
    best = min(
        errors[setting.label][error]
        for setting in settings()
        if setting.group == "published" and setting.method != but
    )
    return errors[label][error] / best


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    return math.exp(sum(map(math.log, values)) / len(values))


def report(results: dict[str, ErrorsBySetting]) -> None:
    """Print ratios to the best published method, totals, and how well intervals hold."""
    ours = [setting.label for setting in settings() if setting.group == "ours"]
    for label in ours:
        print(f"\n{label}\n")
        print(
            f"| log | {' / '.join(ERRORS)} against all | without gs | sum / truth | covered: all rows / true top "
            f"{TOP} / own top {TOP} | width |"
        )
        print("|---|---|---|---|---|---|")
        every: dict[str | None, list[list[float]]] = {None: [], "gs": []}
        for name, errors in results.items():
            cells = []
            for but, ratio_rows in every.items():
                ratios = [ratio(errors, label, error, but=but) for error in ERRORS]
                if name in SEVEN:
                    ratio_rows.append(ratios)
                cells.append(" / ".join(f"{value:.2f}" for value in ratios))
            bots = "" if errors["log"]["light"] >= 0.95 else " (bots)"
            print(f"| {name} | {' | '.join([*cells, *coverage_cells(errors[label], bots)])} |")
        if every[None]:
            means = [
                " / ".join(f"{geometric_mean(list(column)):.3f}" for column in zip(*setting, strict=True))
                for setting in every.values()
            ]
            print(f"| **geometric mean of the seven** | {' | '.join(means)} | | | |")


def coverage_cells(own: dict[str, float], remark: str = "") -> list[str]:
    """Return cells: what all counts come to, how often intervals hold, and how wide they are."""
    covered = " / ".join(per_cent(own[scope], 1) for scope in ("all rows", "true top", "own top"))
    return [f"{own['total']:.2f}{remark}", covered, f"{own['width']:.2f}"]


def report_capped(results: dict[tuple[str, str, str, int], dict[str, float]]) -> None:
    """Print how well intervals hold under caps."""
    covered = f"covered: all rows / true top {TOP} / own top {TOP}"
    print(f"| log | counted | ε | at most | sum / truth | {covered} | width |")
    print("|---|---|---|---|---|---|---|")
    for (counting, epsilon, name, at_most), own in results.items():
        cells = name, "people" if counting == "users" else counting, epsilon, f"{at_most:,}", *coverage_cells(own)
        print(f"| {' | '.join(cells)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how accurate counts are, against all published methods.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", default="0.5", help="one or more, with commas between")
    parser.add_argument("--count", default="users,records", help="what is counted: users, records or both")
    parser.add_argument("--logs", default=",".join((*SEVEN, *OTHERS, *SHAPES)))
    parser.add_argument("--json", metavar="FILE", help="write all errors there")
    parser.add_argument("--published", metavar="FILE", help="take the published methods' errors from such a file")
    parser.add_argument("--at-most", help="public caps, with commas between: only our intervals are measured then")
    given = parser.parse_args()
    published = json.loads(Path(given.published).read_text(encoding="utf-8")) if given.published else {}
    cases = [
        (counting, epsilon, name)
        for counting in get_args(Counting)
        for epsilon in given.epsilon.split(",")
        for name in given.logs.split(",")
        if counting in given.count.split(",")
    ]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        if given.at_most:
            caps = [int(cap) for cap in given.at_most.split(",")]
            capped = {
                (*case, cap): pool.submit(measure_capped, case[2], case[0], case[1], given.runs, cap)
                for case in cases
                for cap in caps
            }
            report_capped({case: job.result() for case, job in capped.items()})
            return 0
        jobs = {
            case: pool.submit(measure, case[2], case[0], case[1], given.runs, published.get("|".join(case), {}))
            for case in cases
        }
        results = {case: job.result() for case, job in jobs.items()}
    if given.json:
        named = {"|".join(case): errors for case, errors in results.items()}
        Path(given.json).write_text(json.dumps(named, indent=1), encoding="utf-8")
    for counting, epsilon in dict.fromkeys(case[:2] for case in cases):
        print(f"\nby {'people' if counting == 'users' else counting}, ε = {epsilon}, {given.runs} runs")
        report({case[2]: errors for case, errors in results.items() if case[:2] == (counting, epsilon)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
