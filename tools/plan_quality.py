"""Measure how far ``headcount plan`` is off: ``HEADCOUNT_DATA=… python tools/plan_quality.py [--runs N]``.

For public logs, whose number of people, median and maximum are published, each method's errors are predicted from
these figures alone and measured with the real method. With ``--top K`` it is what is predicted of the top K: from
figures alone, with the number of people at place K as well, and from a release at ε = 0.5. The tables of
docs/plan.md come from it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow.parquet as pq

import headcount as hc
from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.lab.compare.comparison import Comparison, compare
from headcount.lab.compare.rankings import RankingComparison
from headcount.lab.compare.trials import Truth
from headcount.lab.plan.predicted_errors import Figures, predictions, released_figures
from headcount.lab.plan.top_k_forecast import Expected, outlook
from headcount.methods.prediction.errors import TableShape, activity_of
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.reports.charts.tidy_table import means

LIMITS = (1, 3, 10, 30, 100)
METHODS = ("adaptive", "sra", "hpa", "gs-r", "dpsense")
CLOSE = 3 / 20


@dataclass(frozen=True)
class Published:
    """What is public of a log."""

    name: str
    users: int
    items: int
    median: int
    most: int
    count: Literal["records", "users"]
    item: str = "item"
    chosen_on: bool = False
    """Whether constants of the forecast were chosen on it."""

    def figures(self) -> Figures:
        """Return what ``headcount plan`` is given."""
        activity = activity_of(self.users, self.median, self.most)
        return Figures(shapes={"items": TableShape(activity, self.items, self.count == "users")})

    def log(self) -> hc.EventLog:
        """Return the log, with its own items as the catalogue."""
        path = Path(os.environ["HEADCOUNT_DATA"]) / f"{self.name}.parquet"
        rows = pq.read_table(path, columns=["user", self.item]).drop_null()
        items = sorted(str(each) for each in rows[self.item].unique().to_pylist())
        return hc.read_events(rows, user="user", item=self.item, items=items, count=self.count)


LOGS = (
    Published("movielens-1m", 6_040, 3_706, 96, 2_314, "users", chosen_on=True),
    Published("gowalla-10core", 29_858, 40_981, 20, 1_014, "users", chosen_on=True),
    Published("fimi-retail", 88_162, 16_470, 8, 76, "users", chosen_on=True),
    Published("foursquare-nyc", 1_083, 5_135, 93, 2_515, "records"),
)
MORE = (
    Published("kosarak-prefix", 36_682, 17_034, 3, 699, "users", chosen_on=True),
    Published("git-homebrew-core", 14_670, 10_609, 1, 8_835, "users", chosen_on=True),
    Published("hetrec-lastfm-plays", 1_892, 17_632, 50, 50, "users", chosen_on=True),
    Published("hetrec-movielens-tags", 2_113, 5_908, 2, 1_469, "users", "resource", chosen_on=True),
    Published("movielens-100k", 943, 1_682, 65, 737, "users"),
    Published("bms-webview-1", 59_602, 497, 1, 267, "users"),
    Published("msweb", 37_711, 286, 2, 35, "users"),
    Published("foursquare-nyc", 1_083, 5_135, 31, 245, "users"),
    Published("uci-online-retail", 4_372, 3_896, 35, 1_824, "users"),
    Published("git-definitelytyped", 21_165, 11_648, 1, 9_696, "users"),
    Published("hetrec-lastfm-tags", 1_892, 12_523, 8, 1_208, "users", "resource"),
)
"""Logs that rankings alone are predicted for, with figures of different items: people count once an item there."""


def ratios(log: Published, epsilon: str, runs: int) -> dict[tuple[str, int | None, str], tuple[float, float]]:
    """Return (measured, predicted) for every method, limit and error."""
    comparison = Comparison(methods=METHODS, epsilons=(epsilon,), limits=LIMITS, runs=runs)
    with tempfile.TemporaryDirectory() as folder:
        table, _ = compare(log.log(), comparison, Path(folder) / "parts", processes=1)
    expected = {
        (each.method, each.limit if each.method in ("sra", "hpa", "gs-r") else None): each
        for each in predictions(log.figures(), epsilon, LIMITS)
    }
    found = {}
    for each in means(table):
        predicted = expected[each.method, each.limit]
        value = {"MSE": predicted.mse, "MAE": predicted.mae}.get(each.metric)
        if value is not None:
            found[each.method, each.limit, each.metric] = (each.mean, value)
    return found


@dataclass(frozen=True)
class Forecast:
    """How many of the top K were right, and what was said beforehand: by what it was said from."""

    log: Published
    way: str
    epsilon: float
    measured: float
    said: dict[str, Expected]


def forecasts(log: Published, epsilons: Sequence[str], k: int, runs: int) -> Iterator[Forecast]:
    """Measure what ``rank`` and ``release`` with ``top`` find of the top K, and forecast it in three ways."""
    events = replace(log.log(), counting="users")
    study = RankingComparison(methods=("adaptive",), epsilons=epsilons, tops=(k,), runs=runs)
    with tempfile.TemporaryDirectory() as folder:
        table, _ = compare(events, study, Path(folder) / "parts", processes=1)
    found = {(each.label, each.epsilon): k * each.mean for each in means(table)}
    people = np.sort(Truth.of(events, LocalEngine()).items)[::-1]
    release = build("adaptive", {}).release(events, Grant("0.5"), SeededNoise(1))
    released = released_figures(release)
    said = {
        "figures": outlook(log.figures(), epsilons, k),
        "place K": outlook(log.figures(), epsilons, k, known=int(people[k - 1])),
        "release": outlook(released, epsilons, k),
    }
    for at, each in enumerate(said["figures"]):
        measured = found["rank" if each.way == "rank" else "adaptive", each.epsilon]
        yield Forecast(log, each.way, each.epsilon, measured, {name: mine[at] for name, mine in said.items()})


def show_forecasts(epsilons: Sequence[str], k: int, runs: int, named: Sequence[str]) -> None:
    """Print every forecast beside what was measured, and how near they were."""
    sources = ("figures", "place K", "release")
    columns = [f"{way}, {name}" for way in ("rank", "release") for name in ("right", *sources)]
    print(f"| log | ε | {' | '.join(columns)} |\n|---|---|{'---:|' * len(columns)}")
    made = []
    by_people = [each for each in (*LOGS, *MORE) if each.count == "users"]
    for log in (each for each in by_people if not named or each.name in named):
        rows: dict[float, list[str]] = {}
        for each in forecasts(log, epsilons, k, runs):
            made.append(each)
            said = [f"{one.right:.1f} ({one.low:.0f}–{one.high:.0f})" for one in each.said.values()]
            rows.setdefault(each.epsilon, []).extend([f"{each.measured:.1f}", *said])
        for epsilon, cells in rows.items():
            print(f"| {log.name} | {epsilon:g} | {' | '.join(cells)} |", flush=True)
    for chosen_on in (True, False):
        half = [each for each in made if each.log.chosen_on == chosen_on]
        for source in sources if half else ():
            off = [abs(each.said[source].right - each.measured) for each in half]
            within = sum(
                each.said[source].low - 0.5 <= each.measured <= each.said[source].high + 0.5 for each in half
            )
            print(
                f"{'logs it was chosen on' if chosen_on else 'other logs'}, from {source}: "
                f"{sum(each <= CLOSE * k for each in off)} of {len(off)} within {CLOSE * k:g}, "
                f"off by {sum(off) / len(off):.1f} on average; {within} in the range"
            )


def show_errors(epsilon: str, runs: int) -> None:
    """Print how far errors of counts were off."""
    found = {log.name: ratios(log, epsilon, runs) for log in LOGS}
    print(f"| method | limit | {' | '.join(found)} |\n|---|---:|{'---:|' * len(found)}")
    settings = sorted(
        {key[:2] for key in found[LOGS[0].name]}, key=lambda key: (METHODS.index(key[0]), key[1] or 0)
    )
    for method, limit in settings:
        pairs = [[found[log][method, limit, error] for error in ("MAE", "MSE")] for log in found]
        shown = [" / ".join(f"{measured / predicted:.2f}" for measured, predicted in each) for each in pairs]
        print(f"| {method} | {limit or '–'} | {' | '.join(shown)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how far predictions are off.")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", default="1", help="one for errors of counts; several with commas for --top")
    parser.add_argument(
        "--top", type=int, metavar="K", help="forecasts of the top K, in place of errors of counts"
    )
    parser.add_argument("--logs", default="", help="for --top: some logs alone, with commas")
    given = parser.parse_args()
    if given.top is None:
        show_errors(given.epsilon, given.runs)
    else:
        show_forecasts(
            given.epsilon.split(","), given.top, given.runs, [each for each in given.logs.split(",") if each]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
