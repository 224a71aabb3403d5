"""Measure how far ``headcount plan`` is off: ``HEADCOUNT_DATA=… python tools/plan_quality.py [--runs N]``.

For public logs, whose number of people, median and maximum are published, each method's errors are predicted from
these figures alone and measured with the real method. The table of docs/plan.md comes from it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

import headcount as hc
from headcount.answers.planning import TableShape, activity_of
from headcount.lab.comparing.comparison import Comparison, compare
from headcount.lab.comparing.planning import Figures, predictions
from headcount.reports.tidy import means

LIMITS = (1, 3, 10, 30, 100)
METHODS = ("adaptive", "sra", "hpa", "gs-r", "dpsense")


@dataclass(frozen=True)
class Published:
    """What is public of a log."""

    name: str
    users: int
    items: int
    median: int
    most: int
    count: Literal["records", "users"]


LOGS = (
    Published("movielens-1m", 6_040, 3_706, 96, 2_314, "users"),
    Published("gowalla-10core", 29_858, 40_981, 20, 1_014, "users"),
    Published("fimi-retail", 88_162, 16_470, 8, 76, "users"),
    Published("foursquare-nyc", 1_083, 5_135, 93, 2_515, "records"),
)


def ratios(log: Published, epsilon: str, runs: int) -> dict[tuple[str, int | None, str], tuple[float, float]]:
    """Return (measured, predicted) for every method, limit and error."""
    path = Path(os.environ["HEADCOUNT_DATA"]) / f"{log.name}.parquet"
    items = [str(each) for each in pq.read_table(path, columns=["item"])["item"].unique().to_pylist()]
    events = hc.read_events(path, user="user", item="item", items=items, count=log.count)
    comparison = Comparison(methods=METHODS, epsilons=(epsilon,), limits=LIMITS, runs=runs)
    with tempfile.TemporaryDirectory() as folder:
        table, _ = compare(events, comparison, Path(folder) / "parts")
    shape = TableShape(activity_of(log.users, log.median, log.most), log.items, log.count == "users")
    expected = {
        (each.method, each.limit if each.method in ("sra", "hpa", "gs-r") else None): each
        for each in predictions(Figures(shapes={"items": shape}), epsilon, LIMITS)
    }
    found = {}
    for each in means(table):
        predicted = expected[each.method, each.limit]
        value = {"MSE": predicted.mse, "MAE": predicted.mae}.get(each.metric)
        if value is not None:
            found[each.method, each.limit, each.metric] = (each.mean, value)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how far predictions are off.")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    found = {log.name: ratios(log, given.epsilon, given.runs) for log in LOGS}
    print(f"| method | limit | {' | '.join(found)} |\n|---|---:|{'---:|' * len(found)}")
    settings = sorted(
        {key[:2] for key in found[LOGS[0].name]}, key=lambda key: (METHODS.index(key[0]), key[1] or 0)
    )
    for method, limit in settings:
        pairs = [[found[log][method, limit, error] for error in ("MAE", "MSE")] for log in found]
        shown = [" / ".join(f"{measured / predicted:.2f}" for measured, predicted in each) for each in pairs]
        print(f"| {method} | {limit or '–'} | {' | '.join(shown)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
