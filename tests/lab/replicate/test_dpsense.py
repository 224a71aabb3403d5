"""Day and Li again: figure 1 at a fixed θ, the choices, and what follows from the measured rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.compare.trials import Bench, Trial, Truth
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate import dpsense
from headcount.lab.replicate.claims.rules import AgainstValue
from headcount.lab.replicate.dpsense import DPSENSE
from headcount.lab.replicate.dpsense_rows import FIXED, HIGH, LOW, derived
from headcount.lab.replicate.paper import Effort, Setting, gather
from headcount.lab.replicate.results import Results, Row, table_of
from headcount.methods.registry import build
from tests.lab.replicate import papers

USUAL, QUICK = Effort(quick=False, runs=30), Effort(quick=True, runs=5)
ITEMS = [f"i{n}" for n in range(8)]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    return gather(DPSENSE.claims, papers.shared(tmp_path_factory.mktemp("shared")))[0]


@pytest.fixture(scope="module")
def on() -> Bench:
    """Ten people have one item, ten have four: 50 records, 6.25 a column, 2.5 a row."""
    light = [(f"a{n}", ITEMS[n % 4]) for n in range(10)]
    heavy = [(f"b{n}", item) for n in range(10) for item in ITEMS[:4]]
    log = replace(EventLog.of([*light, *heavy, *light], items=ITEMS), counting="users")
    engine = LocalEngine(threads=1)
    return Bench(log, Truth.count(log, engine), engine, seed=1)


def settings(datasets: dict[str, Dataset], experiment: str, effort: Effort = USUAL) -> list[Setting]:
    return [setting for setting in DPSENSE.settings(effort, datasets) if setting.experiment == experiment]


def test_both_epsilons_and_every_method(datasets: dict[str, Dataset]) -> None:
    assert set(datasets) == {"Movielens", "Kosarak", "Transaction"}
    run = {(setting.dataset, setting.method, setting.spend) for setting in settings(datasets, "errors")}
    printed = {"dpsense-published", "dpsense-s-published", "lpa-published", "gs-published", "fpa-published"}
    names = {*printed, "dpsense", "dpsense-s", "adaptive"}
    epsilons = {"0.405465", "1.098612"}
    assert run == {(name, method, at) for name in datasets for method in names for at in epsilons}
    assert {float(setting) for setting in epsilons} == {LOW, HIGH} == {0.405465, 1.098612}
    for effort in (USUAL, QUICK):
        assert 0.1 in {
            setting.x for setting in settings(datasets, "split", effort)
        }  # what others are held against


def test_quick_lowers_runs_and_grid_points_alone(datasets: dict[str, Dataset]) -> None:
    whole, quick = (
        {
            (setting.experiment, setting.dataset, setting.method, setting.epsilon)
            for setting in DPSENSE.settings(effort, datasets)
        }
        for effort in (USUAL, QUICK)
    )
    assert whole == quick
    assert DPSENSE.quick_runs < DPSENSE.runs == 30


def test_the_grid_goes_beyond_what_the_paper_finds_best(datasets: dict[str, Dataset]) -> None:
    grid = dpsense.thetas(165.6, 3706, dpsense.THETAS)
    assert grid[0] == 1
    assert 6 * 165.6 < grid[-1] == 1656
    assert dpsense.thetas(8, 50, 24)[-1] == 50
    drawn = {setting.x for setting in settings(datasets, "quality") if setting.dataset == "Transaction"}
    assert max(x for x in drawn if x) == 24  # ten times the average, but there are no more columns


def fixed(on: Bench, theta: int, epsilon: str) -> dict[str, float]:
    trial = Trial.for_dataset("log", "dpsense", epsilon=epsilon, theta=theta)
    return {row.metric: row.value for row in dpsense.fixed(on, trial)}


def test_quality_weighs_what_is_kept_against_the_noise(on: Bench) -> None:
    """A limit of 2 keeps 10 + 20 of 50 records, on 8 columns; the noise is paid with nine tenths of ε."""
    assert fixed(on, 2, "1")["quality"] == pytest.approx(30 / 8 - 2 / 0.9)
    assert fixed(on, 8, "1")["quality"] == pytest.approx(50 / 8 - 8 / 0.9)


def test_without_noise_the_error_is_what_is_cut_off(on: Bench) -> None:
    metrics = fixed(on, 2, "50000")
    assert metrics["MAE"] == pytest.approx(20 / 8, abs=0.01)
    assert (metrics["MAE"] + metrics["quality"]) / 2 == pytest.approx(50 / 8 / 2, abs=0.01)


def test_negative_counts_are_set_to_zero(on: Bench) -> None:
    metrics = fixed(on, 8, "0.01")
    assert metrics["MAE"] < metrics["MAE, negatives kept"]


@pytest.mark.parametrize("epsilon", ["2", "0.1"])
def test_a_tenth_for_the_choice_is_dpsense_itself(on: Bench, epsilon: str) -> None:
    trial = Trial.for_dataset("log", "dpsense-published", epsilon=epsilon, choice="0.1")
    [row] = dpsense.divided(on, trial)
    release = build("dpsense-published", {}).release(on.log, Grant(epsilon), on.noise(trial), on.engine)
    [mae] = [metric_row.value for metric_row in dpsense.compared(on.truth, release) if metric_row.metric == "MAE"]
    assert row.value == pytest.approx(mae)


def test_another_budget_split_leaves_the_rest_for_the_counts(on: Bench) -> None:
    """With almost all of ε for the choice the counts drown: the mean of 40 runs is far above."""

    def average(choice: str) -> float:
        trials = [
            Trial.for_dataset("log", "dpsense-published", epsilon="20", run=run, choice=choice)
            for run in range(40)
        ]
        return float(np.mean([row.value for trial in trials for row in dpsense.divided(on, trial)]))

    assert average("0.99") > 3 * average("0.5")


def test_what_is_chosen_becomes_rows_of_its_own(on: Bench) -> None:
    release = on.release(Trial.for_dataset("log", "dpsense-s-published", epsilon="500000"))
    metrics = {(row.metric, row.k): row.value for row in dpsense.compared(on.truth, release)}
    assert (metrics["theta", None], metrics["alpha", None]) == (4, 1)
    assert metrics["MAE", None] == pytest.approx(0, abs=0.01)
    assert [k for metric, k in metrics if metric == "top-k accuracy"] == list(dpsense.TOPS)
    assert DPSENSE.elsewhere["errors", "alpha", "items"] == "choice"


def synthetic_results() -> Results:
    """Two runs of figure 1 at θ = 1, 4 and 10; the average column has 20 people, the average row 2 items."""

    def row(experiment: str, method: str, metric: str, values: list[float], *at: float | None) -> list[Row]:
        epsilon, x = at or (None, None)
        return [
            Row(experiment, "d", method, "items", epsilon, x, metric, None, run, value)
            for run, value in enumerate(values)
        ]

    sizes = [
        *row("sizes", "log", "average column count", [20.0]),
        *row("sizes", "log", "average row count", [2.0]),
    ]
    maes = {LOW: ([16.0, 16.0], [10.0, 12.0], [40.0, 44.0]), HIGH: ([15.0, 15.0], [6.0, 6.0], [5.0, 10.0])}
    qualities = {LOW: (3.0, 9.0, -25.0), HIGH: (5.0, 14.0, 12.0)}
    for epsilon in (LOW, HIGH):
        for place, theta in enumerate((1.0, 4.0, 10.0)):
            sizes += row("quality", FIXED, "MAE", maes[epsilon][place], epsilon, theta)
            sizes += row("quality", FIXED, "MAE, negatives kept", [99.0, 99.0], epsilon, theta)
            sizes += row("quality", FIXED, "quality", [qualities[epsilon][place]] * 2, epsilon, theta)
        sizes += row("errors", "dpsense-published", "MAE", [12.0, 9.0], epsilon, None)
        sizes += row("errors", "dpsense", "MAE", [11.0, 11.0], epsilon, None)
        sizes += row("choice", "dpsense-s-published", "alpha", [1.1, 1.3], epsilon, None)
        sizes += row("choice", "dpsense-s", "alpha", [1.2, 1.4], epsilon, None)
        for split, values in ((0.05, [6.0, 12.0]), (0.1, [8.0, 16.0]), (0.3, [20.0, 20.0])):
            sizes += row("split", "dpsense-published", "MAE", values, epsilon, split)
    return Results(table_of(sizes))


@pytest.fixture(scope="module")
def derived_values() -> dict[tuple[str, str, str, float | None, float | None], list[float]]:
    rows: dict[tuple[str, str, str, float | None, float | None], list[float]] = {}
    for row in derived(synthetic_results()):
        rows.setdefault((row.experiment, row.method, row.metric, row.epsilon, row.x), []).append(row.value)
    return rows


@pytest.mark.parametrize(
    ("method", "metric", "at", "values"),
    [
        (FIXED, "MAE at the best quality over the smallest MAE", LOW, [10 / 11, 12 / 11]),
        (FIXED, "MAE at the best quality over the smallest MAE", HIGH, [1, 1]),
        ("dpsense-published", "MAE at the chosen θ over the smallest MAE", LOW, [12 / 11, 9 / 11]),
        ("dpsense", "MAE at the chosen θ over the smallest MAE", LOW, [1, 1]),
        ("dpsense-s-published", "factor", LOW, [1.1, 1.3]),
        ("dpsense-s", "factor", LOW, [1.2, 1.4]),
        (FIXED, "best θ at ln 3 over the average row count", None, [10 / 2, 4 / 2]),
        (
            FIXED,
            "rise of MAE to the largest θ at ln 3 over that at ln 1.5",
            None,
            [(5 / 5) / (40 / 10), (10 / 6) / (44 / 12)],
        ),
    ],
)
def test_choices(
    derived_values: dict[object, list[float]], method: str, metric: str, at: float, values: list[float]
) -> None:
    assert derived_values["choice", method, metric, at, None] == pytest.approx(values)


def test_symmetry(derived_values: dict[object, list[float]]) -> None:
    metric = "distance of the mean of quality and MAE from half the average count, over that half"
    assert derived_values["quality", FIXED, metric, LOW, 1.0] == pytest.approx([abs(9.5 - 10) / 10] * 2)
    metric = "difference of the means of quality and MAE between both ε, over half the average count"
    assert derived_values["quality", FIXED, metric, None, 4.0] == pytest.approx([0.05, 0.05])
    assert derived_values["quality", FIXED, "MAE at ln 3 over MAE at ln 1.5", None, 4.0] == pytest.approx(
        [0.6, 0.5]
    )


def test_splits(derived_values: dict[object, list[float]]) -> None:
    metric = "MAE with the best split over MAE with a tenth"
    assert derived_values["split", "dpsense-published", metric, HIGH, None] == [0.75, 0.75]


def test_figure_1_has_both_epsilons_and_half_the_average(derived_values: dict[object, list[float]]) -> None:
    assert derived_values["figure 1", "MAE, ε = ln 3", "MAE and quality", HIGH, 10.0] == [5, 10]
    assert derived_values["figure 1", "quality, ε = ln 1.5", "MAE and quality", LOW, 10.0] == [-25, -25]
    assert derived_values["figure 1", "mean, ε = ln 1.5", "mean of both", LOW, 1.0] == [9.5, 9.5]
    assert derived_values["figure 1", "negatives kept, ε = ln 3", "mean of both", HIGH, 1.0] == [52, 52]
    assert derived_values["figure 1", "half the average count", "mean of both", None, 4.0] == [10]


def test_where_the_best_limit_lies_is_judged_over_all_logs() -> None:
    """Of two logs one has its best θ at 5 and 2 times the average row count, the other at 25 and 10 times."""
    rows = synthetic_results().table.to_pylist()
    sparse = [
        {**row, "dataset": "e", "value": row["value"] / (5 if row["metric"] == "average row count" else 1)}
        for row in rows
    ]
    both = Results(table_of([Row(**row) for row in [*rows, *sparse]]))
    metric = "share of logs whose best θ at ln 3 is 1.5 to 6 times the average row count"
    shares = [row.value for row in derived(both) if (row.dataset, row.metric) == ("all", metric)]
    assert shares == [0.5, 0.5]
    [rule] = [claim.judge for claim in DPSENSE.claims.claim if claim.id == "1-best-theta"]
    assert isinstance(rule, AgainstValue)
    assert rule.judge(Results(table_of(list(derived(both)))), "all", "items").holds


def test_claims_about_the_algorithms_are_held_against_these_as_printed() -> None:
    held = {method for claim in DPSENSE.claims.claim for method in getattr(claim.judge, "methods", [])}
    assert held == {FIXED, "dpsense-published", "dpsense-s-published"}
