"""Kellaris and Papadopoulos again: the paper's parameters, figure 8, and what follows from the measured rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.compare.trials import Bench, Trial, Truth
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate import kellaris
from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.kellaris import KELLARIS
from headcount.lab.replicate.paper import Effort, Setting, gather
from headcount.lab.replicate.results import Results, Row, table_of
from headcount.methods.registry import build
from tests.lab.replicate import papers

USUAL, QUICK = Effort(quick=False, runs=200), Effort(quick=True, runs=10)
GS = "gs-published"


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    return gather(KELLARIS.claims, papers.shared(tmp_path_factory.mktemp("shared")))[0]


def settings(datasets: dict[str, Dataset], experiment: str, effort: Effort = USUAL) -> list[Setting]:
    return [setting for setting in KELLARIS.settings(effort, datasets) if setting.experiment == experiment]


def bench(log: EventLog) -> Bench:
    engine = LocalEngine(threads=1)
    return Bench(log, Truth.count(log, engine), engine, seed=1)


@pytest.fixture(scope="module")
def places(datasets: dict[str, Dataset]) -> Bench:
    return bench(KELLARIS.log_of(datasets["Checkin"]))


def test_every_method_and_sampling_runs_at_every_epsilon(datasets: dict[str, Dataset]) -> None:
    data, epsilons = {"Checkin", "Netflix", "Trajectory"}, {"0.1", "0.693147", "1.098612"}
    run = {(setting.dataset, setting.method, setting.spend) for setting in settings(datasets, "comparison")}
    names = {"lpa-published", "fpa-published", "gs-r-published", "gs-s-published", GS, "adaptive", "dpsense"}
    assert run == {(name, method, at) for name in data for method in names for at in epsilons}
    sampled = settings(datasets, "sampling")
    assert {(setting.method, setting.parameters["sampling"]) for setting in sampled} == {
        ("gs-s-published (column)", "column"),
        ("gs-s-published (row)", "row"),
        ("gs-s-published (none)", "none"),
    }
    assert len(sampled) == 3 * 3 * 3
    assert {setting.run_as for setting in sampled} == {"gs-s-published"}
    assert {setting.spend for setting in settings(datasets, "group size")} == {"0.693147"}
    assert all(setting.epsilon == float(setting.spend) for setting in sampled)


def test_quick_lowers_runs_and_grid_points_alone(datasets: dict[str, Dataset]) -> None:
    def keys_of(effort: Effort) -> list[tuple[str, ...]]:
        return [
            (setting.experiment, setting.dataset, setting.method, setting.spend)
            for setting in KELLARIS.settings(effort, datasets)
        ]

    assert keys_of(USUAL) == keys_of(QUICK)
    assert KELLARIS.quick_runs < KELLARIS.runs == 200
    ours = [setting.runs for setting in settings(datasets, "comparison", QUICK) if setting.method in kellaris.OURS]
    assert set(ours) == {10}


def test_users_are_counted_once_an_item(tmp_path: Path) -> None:
    log = EventLog.of([("ann", "tea"), ("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    data = Dataset("d", log, "shared", "", "", sizes=None)  # type: ignore[arg-type]
    assert bench(KELLARIS.log_of(data)).truth.items.tolist() == [1.0, 1.0]
    for paper in ("kellaris", "dpsense"):
        assert PAPERS[paper].log_of(data).counting == "users"


def test_errors_are_those_of_the_paper() -> None:
    log = EventLog.of([(f"u{n}", "tea") for n in range(4)], items=["rye", "tea"])
    on = bench(log)
    release = on.release(Trial.for_dataset("log", "lpa", epsilon="5000", limit=1))
    release.tables["items"] = release.items.set_column(  # type: ignore[index]
        release.items.column_names.index("count"), "count", [[3.0, 6.0]]
    )
    metrics = {row.metric: row.value for row in kellaris.compared(on.truth, release)}
    assert metrics["MAE"] == 2.5
    assert metrics["MRE"] == pytest.approx((3 / 1 + 2 / 4) / 2)  # the sanity bound is at least one person


def tuned(on: Bench, sizes: int = 300) -> tuple[dict[str, float], dict[str, dict[int, float]], Trial]:
    trial = Trial.for_dataset("Checkin", GS, epsilon="0.693147", sizes=sizes)
    single: dict[str, float] = {}
    curves: dict[str, dict[int, float]] = {}
    for row in kellaris.tuned(on, trial):
        if row.k is None:
            single[row.metric] = row.value
        else:
            curves.setdefault(row.metric, {})[row.k] = row.value
    return single, curves, trial


def test_the_choice_is_that_of_gs_itself(places: Bench) -> None:
    single, curves, trial = tuned(places)
    release = build(GS, {}).release(places.log, Grant(trial.epsilon), places.noise(trial), places.engine)
    assert single["chosen group size"] == release.chosen["items"]["group size"]
    assert list(curves["real L1"]) == list(curves["estimated L1"]) == list(range(1, 26))


def test_the_best_size_and_the_excess_go_by_the_real_error(places: Bench) -> None:
    single, curves, _ = tuned(places)
    real = curves["real L1"]
    assert real[int(single["best group size"])] == min(real.values())
    chosen = real[int(single["chosen group size"])]
    assert single[kellaris.EXCESS] == pytest.approx(chosen / min(real.values()) - 1)


def test_the_expected_error_is_what_noise_gives_on_average() -> None:
    """False alarm below 1e-6: 4,000 sums of 7 terms, whose relative error is below 0.5 %, are held to 2.5 %."""
    counts, order = np.array([0.0, 30, 2, 9, 9, 4, 1]), np.array([6, 0, 2, 5, 3, 4, 1])
    draws = np.random.Generator(np.random.PCG64(5))
    groups = [[6, 0, 2], [5, 3, 4, 1]]  # what remains joins the last group
    total = 0.0
    for _ in range(4000):
        for group in groups:
            average = counts[group].mean() + draws.laplace(scale=20) / len(group)
            total += np.abs(counts[group] - average).sum()
    assert kellaris.expected_error(counts, order, 3, 20.0) == pytest.approx(total / 4000, rel=0.025)


def rows(method: str, maes: dict[float, list[float]], data: str) -> list[Row]:
    return [
        Row("comparison", data, method, "items", epsilon, None, "MAE", None, run, value)
        for epsilon, values in maes.items()
        for run, value in enumerate(values)
    ]


def best_sizes(data: str, *sizes: float) -> list[Row]:
    return [
        Row("group size", data, GS, "items", 0.693147, None, "best group size", None, run, size)
        for run, size in enumerate(sizes)
    ]


SYNTHETIC_ROWS = [
    *rows(GS, {0.1: [1.0, 2.0], 1.0: [1.0, 1.0]}, "Checkin"),
    *rows("lpa-published", {0.1: [60.0, 100.0], 1.0: [9.0, 11.0]}, "Checkin"),
    *rows("fpa-published", {0.1: [2.0, 2.0], 1.0: [4.0, 4.0]}, "Checkin"),
    *best_sizes("Checkin", 100, 60),
]
OTHER = [
    *rows(GS, {0.1: [1.0, 1.0], 1.0: [1.0, 1.0]}, "Trajectory"),
    *rows("lpa-published", {0.1: [10.0, 20.0], 1.0: [3.0, 3.0]}, "Trajectory"),
    *rows("fpa-published", {0.1: [1.0, 1.0], 1.0: [1.0, 1.0]}, "Trajectory"),
    *best_sizes("Trajectory", 10, 20),
]


def derived(results: list[Row]) -> dict[tuple[str, str, str], list[float]]:
    values_by_key: dict[tuple[str, str, str], list[float]] = {}
    for row in kellaris.derived(Results(table_of(results))):
        at = row.metric if row.epsilon is None else f"{row.metric} {row.epsilon:g}"
        values_by_key.setdefault((row.experiment, row.dataset, at), []).append(row.value)
    return values_by_key


def test_gains_are_ratios_run_by_run() -> None:
    ratios = derived(SYNTHETIC_ROWS + OTHER)
    assert ratios["gains", "Checkin", "gain over lpa-published by epsilon 0.1"] == [60, 50]
    assert ratios["gains", "Checkin", "gain over fpa-published by epsilon 1"] == [4, 4]
    assert ratios["gains", "Checkin", "largest gain over lpa-published"] == [60, 50]
    assert ratios["gains", "Checkin", "largest gain over fpa-published"] == [4, 4]
    metric = "gain over lpa-published on Checkin over the next largest"
    assert ratios["gains", "all", metric] == [60 / 10, 50 / 20]
    assert ratios["group size", "all", "largest best group size over smallest 0.693147"] == [10, 3]


def test_one_data_set_is_compared_with_nothing() -> None:
    assert {data for _, data, _ in derived(SYNTHETIC_ROWS)} == {"Checkin"}


def test_comparisons_need_all_the_data(tmp_path: Path) -> None:
    papers.shared(tmp_path)
    assert set(gather(KELLARIS.claims, tmp_path)[1]) == {"Document"}
    (tmp_path / "gowalla-10core.parquet").unlink()
    assert set(gather(KELLARIS.claims, tmp_path)[1]) == {"Document", "Checkin", "all"}
    assert "all" not in gather(PAPERS["fan-jin"].claims, tmp_path)[1]
