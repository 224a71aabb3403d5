"""Accuracy of the errors ``headcount plan`` predicts: ``python -m benchmarks.quality.plan_predictions``.

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
from headcount.lab.plan.top_k_forecast import Expected, forecast_top_k
from headcount.methods.prediction.errors import TableShape, lognormal_activity
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.reports.charts.trial_means import means

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
        activity = lognormal_activity(self.users, self.median, self.most)
        return Figures(shapes={"items": TableShape(activity, self.items, self.count == "users")})

    def log(self) -> hc.EventLog:
        """Return the log, with its own items as the catalogue."""
        path = Path(os.environ["HEADCOUNT_DATA"]) / f"{self.name}.parquet"
        rows = pq.read_table(path, columns=["user", self.item]).drop_null()
        items = sorted(str(item) for item in rows[self.item].unique().to_pylist())
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
        (prediction.method, prediction.limit if prediction.method in ("sra", "hpa", "gs-r") else None): prediction
        for prediction in predictions(log.figures(), epsilon, LIMITS)
    }
    pairs = {}
    for mean in means(table):
        predicted = expected[mean.method, mean.limit]
        value = {"MSE": predicted.mse, "MAE": predicted.mae}.get(mean.metric)
        if value is not None:
            pairs[mean.method, mean.limit, mean.metric] = (mean.mean, value)
    return pairs


@dataclass(frozen=True)
class Forecast:
    """How many of the top K were right, and what was said beforehand: by what it was said from."""

    log: Published
    command: str
    epsilon: float
    measured: float
    expectations: dict[str, Expected]


def forecasts(log: Published, epsilons: Sequence[str], k: int, runs: int) -> Iterator[Forecast]:
    """Measure what ``rank`` and ``release`` with ``top`` find of the top K, and forecast it in three ways."""
    events = replace(log.log(), counting="users")
    study = RankingComparison(methods=("adaptive",), epsilons=epsilons, tops=(k,), runs=runs)
    with tempfile.TemporaryDirectory() as folder:
        table, _ = compare(events, study, Path(folder) / "parts", processes=1)
    measured_counts = {(mean.label, mean.epsilon): k * mean.mean for mean in means(table)}
    people = np.sort(Truth.count(events, LocalEngine()).items)[::-1]
    release = build("adaptive", {}).release(events, Grant("0.5"), SeededNoise(1))
    released = released_figures(release)
    expectations = {
        "figures": forecast_top_k(log.figures(), epsilons, k),
        "place K": forecast_top_k(log.figures(), epsilons, k, kth_count=int(people[k - 1])),
        "release": forecast_top_k(released, epsilons, k),
    }
    for at, expected in enumerate(expectations["figures"]):
        measured = measured_counts["rank" if expected.way == "rank" else "adaptive", expected.epsilon]
        yield Forecast(
            log,
            expected.way,
            expected.epsilon,
            measured,
            {name: mine[at] for name, mine in expectations.items()},
        )


def show_forecasts(epsilons: Sequence[str], k: int, runs: int, named: Sequence[str]) -> None:
    """Print every forecast beside what was measured, and how near they were."""
    sources = ("figures", "place K", "release")
    columns = [f"{command}, {name}" for command in ("rank", "release") for name in ("right", *sources)]
    print(f"| log | ε | {' | '.join(columns)} |\n|---|---|{'---:|' * len(columns)}")
    forecast_list = []
    by_people = [item for item in (*LOGS, *MORE) if item.count == "users"]
    for log in (user_log for user_log in by_people if not named or user_log.name in named):
        rows: dict[float, list[str]] = {}
        for forecast in forecasts(log, epsilons, k, runs):
            forecast_list.append(forecast)
            shown_counts = [
                f"{expected.right:.1f} ({expected.low:.0f}–{expected.high:.0f})"
                for expected in forecast.expectations.values()
            ]
            rows.setdefault(forecast.epsilon, []).extend([f"{forecast.measured:.1f}", *shown_counts])
        for epsilon, cells in rows.items():
            print(f"| {log.name} | {epsilon:g} | {' | '.join(cells)} |", flush=True)
    for chosen_on in (True, False):
        half = [item for item in forecast_list if item.log.chosen_on == chosen_on]
        for source in sources if half else ():
            errors = [abs(item.expectations[source].right - item.measured) for item in half]
            within = sum(
                user_log.expectations[source].low - 0.5
                <= user_log.measured
                <= user_log.expectations[source].high + 0.5
                for user_log in half
            )
            print(
                f"{'logs it was chosen on' if chosen_on else 'other logs'}, from {source}: "
                f"{sum(user_log <= CLOSE * k for user_log in errors)} of {len(errors)} within {CLOSE * k:g}, "
                f"off by {sum(errors) / len(errors):.1f} on average; {within} in the range"
            )


def show_errors(epsilon: str, runs: int) -> None:
    """Print how far errors of counts were off."""
    ratios_by_log = {log.name: ratios(log, epsilon, runs) for log in LOGS}
    print(f"| method | limit | {' | '.join(ratios_by_log)} |\n|---|---:|{'---:|' * len(ratios_by_log)}")
    settings = sorted(
        {key[:2] for key in ratios_by_log[LOGS[0].name]}, key=lambda key: (METHODS.index(key[0]), key[1] or 0)
    )
    for method, limit in settings:
        pairs = [[ratios_by_log[log][method, limit, error] for error in ("MAE", "MSE")] for log in ratios_by_log]
        shown = [" / ".join(f"{measured / predicted:.2f}" for measured, predicted in pair) for pair in pairs]
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
            given.epsilon.split(","), given.top, given.runs, [name for name in given.logs.split(",") if name]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
