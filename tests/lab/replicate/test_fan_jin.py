"""Fan and Jin again: the paper's parameters, what is measured, and which data are taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import ActivityHistogram
from headcount.engines.local.engine import LocalEngine
from headcount.errors import AbsentError, HeadcountError, UsageError
from headcount.events.log import EventLog
from headcount.lab.compare import trials
from headcount.lab.compare.trial_grid import SCHEMA
from headcount.lab.compare.trials import Bench, Trial, Truth
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate import fan_jin
from headcount.lab.replicate.fan_jin import FAN_JIN, YOUNG_MEN, lists
from headcount.lab.replicate.paper import Effort, Setting, gather, reproduce, tidy
from headcount.lab.replicate.results import MissingResultError, Row, table_of
from headcount.methods.registry import build
from headcount.noise.stages import split_among_stages
from tests.lab.replicate import papers

USUAL, QUICK = Effort(quick=False, runs=20), Effort(quick=True, runs=5)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    folder = papers.shared(tmp_path_factory.mktemp("shared"))
    return gather(FAN_JIN.claims, folder)[0]


def settings(datasets: dict[str, Dataset], experiment: str, effort: Effort = USUAL) -> list[Setting]:
    return [setting for setting in FAN_JIN.settings(effort, datasets) if setting.experiment == experiment]


@pytest.mark.parametrize(
    ("data", "method", "table", "scale"),
    [
        ("MovieLens", "sra", "items", 30 / 0.5),
        ("MovieLens", "sra", "edges", 30 / 0.5),
        ("MovieLens", "hpa-published", "items", 30 / 0.45),
        ("MovieLens", "hpa-published", "edges", 30 / 0.45),
        ("Foursquare", "sra", "items", 10 / 0.5),
        ("Gowalla", "hpa-published", "items", 10 / 0.45),
    ],
)
def test_noise_is_that_of_the_paper(
    datasets: dict[str, Dataset], data: str, method: str, table: str, scale: float
) -> None:
    """ε = 1 in all: ε/2 for each table of SRA; 0.1 ε for the scores of HPA and 0.45 ε for each table."""
    [setting] = [
        setting
        for setting in settings(datasets, "comparison")
        if (setting.dataset, setting.method, setting.parameters.get("what")) == (data, method, table)
    ]
    [law] = (
        build(method, dict(setting.parameters))
        .noise_distributions(datasets[data].log, Grant(setting.spend))
        .values()
    )
    assert isinstance(law, DiscreteLaplace)
    assert float(law.scale) == pytest.approx(scale, rel=1e-6)


def test_scores_get_a_tenth(datasets: dict[str, Dataset]) -> None:
    method = build("hpa-published", {"limit": 10, "what": "items"})
    price = Cost.of("0.55")
    parts = split_among_stages(method.stages(datasets["Gowalla"].log, price), price)
    assert float(parts["scores"].epsilon) == pytest.approx(0.1)
    assert {setting.spend for setting in settings(datasets, "popularity")} == {"0.1"}
    assert {setting.spend for setting in settings(datasets, "samples")} == {"0.1"}


def test_every_method_runs_on_every_table_there_is(datasets: dict[str, Dataset]) -> None:
    run = {(setting.dataset, setting.method) for setting in settings(datasets, "comparison")}
    names = [*fan_jin.METHODS.values(), *fan_jin.OURS]
    assert run == {(data, name) for data in ("Foursquare", "Gowalla", "MovieLens") for name in names}
    published = [setting for setting in settings(datasets, "comparison") if setting.method == "gs-published"]
    assert [(setting.dataset, setting.parameters["what"]) for setting in published] == [
        ("Foursquare", "items"), ("Foursquare", "edges"), ("Gowalla", "items"),
        ("MovieLens", "items"), ("MovieLens", "edges"),
    ]  # fmt: skip
    assert {setting.dataset for setting in settings(datasets, "samples")} == {*datasets}


def test_quick_lowers_runs_and_grid_points_alone(datasets: dict[str, Dataset]) -> None:
    whole, quick = (list(FAN_JIN.settings(effort, datasets)) for effort in (USUAL, QUICK))
    kept = {setting.label for setting in quick}
    assert kept < {setting.label for setting in whole}
    missing = {setting.experiment for setting in whole if setting.label not in kept}
    assert missing == {"limits", "limits by epsilon", "limits elsewhere"}
    assert FAN_JIN.quick_runs < FAN_JIN.runs == 20
    for place in (5, 30):  # claims look at these
        assert place in fan_jin.QUICKLY_TRIED


def test_stand_ins_are_generated_for_the_claims_they_can_decide(datasets: dict[str, Dataset]) -> None:
    assert datasets["Netflix"].kind == "stand-in"
    run = {setting.experiment for setting in FAN_JIN.settings(USUAL, datasets) if setting.dataset == "Netflix"}
    assert run == {"samples"}


def test_without_data_there_is_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match="none of the data of fan-jin is at hand"):
        gather(FAN_JIN.claims, tmp_path)
    papers.shared(tmp_path)
    (tmp_path / "foursquare-nyc.parquet").unlink()
    datasets, absent = gather(FAN_JIN.claims, tmp_path)
    assert set(datasets) == {"Gowalla", "MovieLens", "Netflix"}
    assert "get dataset_tsmc2014.zip (dataset_TSMC2014_NYC.txt: user, venue" in absent["Foursquare"]


def test_a_single_run_has_no_interval(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="runs must be at least 2"):
        reproduce(FAN_JIN, tmp_path, tmp_path / "parts", runs=1)


FILMS = [f"Film {number}" for number in range(12)]


def films() -> EventLog:
    """Film n has 24 - n young men and one old one, who has seen them all."""
    visits = [(f"m{person}", film, YOUNG_MEN) for n, film in enumerate(FILMS) for person in range(24 - n)]
    return EventLog.of([*visits, *(("old", film, "M|Above 34") for film in FILMS)], items=FILMS,
                       contexts=[YOUNG_MEN, "M|Above 34"])  # fmt: skip


def bench(log: EventLog) -> Bench:
    engine = LocalEngine(threads=1)
    return Bench(log, Truth.count(log, engine), engine, seed=1)


def rows(results: object) -> dict[tuple[str, str | None, int | None], float]:
    return {(row.metric, row.table, row.k): row.value for row in results}  # type: ignore[attr-defined]


def test_an_exact_release_is_perfect() -> None:
    on = bench(films())
    release = on.release(Trial.for_dataset("films", "sra", epsilon="5000", limit=99))
    metrics = rows(row for row in fan_jin.compared(on.truth, release) if row.key is None)
    assert metrics["MSE", "items", None] == pytest.approx(0)
    assert metrics["MSE", "edges", None] == pytest.approx(0)
    assert metrics["KL", "items", None] == pytest.approx(0)
    assert metrics["precision", "items", 1] == metrics["precision", "items", 10] == 1
    assert metrics["found of the true top 10", "edges", None] == 10


def test_the_unknown_context_is_left_out() -> None:
    """A count there would be an error of the release, but the paper has no such cell."""
    on = bench(films())
    release = on.release(Trial.for_dataset("films", "sra", epsilon="5000", limit=99))
    edges = release.edges
    spoilt = [999.0 if row["context"] is None else row["count"] for row in edges.to_pylist()]
    place = edges.column_names.index("count")
    release.tables["edges"] = edges.set_column(place, "count", pa.array(spoilt))  # type: ignore[index]
    metrics = rows(row for row in fan_jin.compared(on.truth, release) if row.key is None)
    assert metrics["MSE", "edges", None] == pytest.approx(0)
    assert metrics["KL", "edges", None] == pytest.approx(0)


def test_a_wrong_recommendation_is_counted() -> None:
    on = bench(films())
    exact = on.truth.edges[:, :-1]
    released = exact.copy()
    released[0, 0], released[11, 0] = 0, 99
    results = list(fan_jin.recommended(on.log, exact, released))
    assert results[0].value == 9
    assert [row.key for row in results[1:3]] == ["Film 11", "Film 1"]
    assert [row.k for row in results[1:]] == list(range(1, 11))


def test_samples_keep_the_contribution_bound_of_every_user(datasets: dict[str, Dataset]) -> None:
    on = bench(datasets["Foursquare"].log)
    records_per_user = on.engine.measure(on.log, ActivityHistogram("edges", 100), bytes(16)).sensitive_values
    kept = float((np.minimum(np.arange(1, 101), 4) * records_per_user).sum() / on.truth.records)
    for method in ("sra", "hpa-published"):
        trial = Trial.for_dataset("Foursquare", method, epsilon="0.1", limit=4)
        metrics = rows(fan_jin.sampled(on, trial))
        assert metrics["share of records", "items", None] == pytest.approx(kept)
        week = [metrics["share of records", "edges", day] for day in range(1, 8)]
        assert sum(week) == pytest.approx(1)
        truth = on.truth.edges.sum(axis=0)[:7] / on.truth.edges.sum()
        far = [metrics["distance from the log", "edges", day] for day in range(1, 8)]
        assert far == pytest.approx(np.abs(np.array(week) - truth).tolist())


def test_hand_picked_samples_hold_what_is_popular(datasets: dict[str, Dataset]) -> None:
    on = bench(datasets["Gowalla"].log)
    sampled = {
        method: fan_jin._sample(
            on, Trial.for_dataset("Gowalla", method, epsilon="500", limit=2)
        ).items.sensitive_values
        for method in ("sra", "hpa-published")
    }
    assert sampled["hpa-published"][:3].sum() > sampled["sra"][:3].sum()


def test_scores_without_noise_find_everything(datasets: dict[str, Dataset]) -> None:
    log = EventLog.of([(f"u{n}", f"i{item}") for item in range(9) for n in range(20 - item)],
                      items=[f"i{item}" for item in range(9)])  # fmt: skip
    metrics = rows(fan_jin.scored(bench(log), Trial.for_dataset("log", "hpa-published", epsilon="5000")))
    assert metrics["precision", "items", 10] == 1
    assert [k for _, _, k in metrics] == list(fan_jin.SCORE_TOPS)


def test_eq_22_is_right_for_equal_users_alone() -> None:
    """100 people with 4 of 5 items each, all to be kept; and 4 on average, where ten people have 40 each."""
    alike = [(who, (who + at) % 5) for who in range(100) for at in range(4)]
    uneven = [(who, at % 5) for who in range(110) for at in range(40 if who < 10 else 1)]
    ratios = []
    for visits in (alike, uneven):
        log = EventLog.of(visits, items=list(range(5)))
        metrics = rows(fan_jin.by_theorem_2(bench(log), Trial.for_dataset("log", "sra", epsilon="4")))
        assert metrics["limit", "items", None] == 4
        ratios.append(metrics["MSE over the smallest", "items", None])
    assert ratios[0] < 3
    assert ratios[1] > 10


def test_facts_of_a_log(datasets: dict[str, Dataset]) -> None:
    on = bench(films())
    metrics = rows(
        row for row in fan_jin.facts(on, Trial.for_dataset("films", "log", epsilon="1")) if row.key is None
    )
    assert metrics["users", "items", None] == 25
    assert metrics["records", "items", None] == on.truth.items.sum()
    assert metrics["most records of a user", "items", None] == 12
    assert metrics["of the paper's list", "edges", None] == 0


def test_table_5_marks_what_is_right() -> None:
    def place(method: str, key: str, x: float, run: int = 0, experiment: str = "men under 25") -> Row:
        return Row(experiment, "MovieLens", method, "edges", 1.0, x, "place in the top 10", key, run, 5.0)

    true = [place("log", "tea", 1), place("log", "rye", 2)]
    other = [place("sra", "later", 1, run=1), place("sra", "elsewhere", 1, experiment="limits elsewhere")]
    table = table_of([*true, place("sra", "oat", 2), place("sra", "tea", 1), *other])
    columns = {chart_list["title"]: chart_list["rows"] for chart_list in lists(table, "films")}
    assert columns["sra (1 of 10)"] == [{"text": "tea", "right": True}, {"text": "oat", "right": False}]
    assert {"the paper's SRA (3 of 10)", "the paper's HPA (8 of 10)"} < set(columns)
    assert lists(table, "mse") == ()


def grid_row(**changed: object) -> dict[str, object]:
    setting = Setting(experiment="e", dataset="d", method="m", epsilon=1.0)
    usual = {"dataset": "d", "label": setting.label, "run": 0, "table": "edges", "metric": "MSE", "value": 2.0}
    return {**usual, **changed}


def test_rows_of_the_grid_become_those_of_the_paper() -> None:
    setting = Setting(experiment="e", dataset="d", method="m", epsilon=1.0)
    measured = pa.Table.from_pylist(
        [grid_row(), grid_row(metric="share", k=3), grid_row(value=None)], schema=SCHEMA
    )
    results = list(tidy(measured, [setting], {("e", "share", "edges"): "elsewhere"}))
    assert [(row.experiment, row.method, row.x, row.value) for row in results] == [
        ("e", "m", None, 2.0),
        ("elsewhere", "m", 3.0, 2.0),
    ]
    refused = pa.Table.from_pylist([grid_row(refused="no limit", value=None)], schema=SCHEMA)
    with pytest.raises(HeadcountError, match="was refused: no limit"):
        list(tidy(refused, [setting], {}))


def test_a_metric_moves_from_the_experiment_it_belongs_to_alone() -> None:
    """The limits are tried with the same measures: what they find for men under 25 is not table 5."""
    other = Setting(experiment="limits elsewhere", dataset="d", method="m", epsilon=1.0)
    row = grid_row(metric="found of the true top 10", label=other.label)
    results = list(tidy(pa.Table.from_pylist([row], schema=SCHEMA), [other], FAN_JIN.elsewhere))
    assert [result.experiment for result in results] == ["limits elsewhere"]


def test_indistinguishable_settings_are_refused() -> None:
    twice = [Setting(experiment="e", dataset="d", method="m", function=name) for name in ("a:b", "c:d")]
    with pytest.raises(ValueError, match="differ in nothing"):
        list(tidy(SCHEMA.empty_table(), twice, {}))


def test_a_paper_may_count_users(tmp_path: Path) -> None:
    papers.shared(tmp_path)
    by_people = replace(
        FAN_JIN,
        log_of=lambda data: replace(data.log, counting="users", context=None),
        settings=lambda _, datasets: [
            Setting(experiment="sizes", dataset=name, method="log", function=f"{__name__}:people", runs=1)
            for name in datasets
        ],
    )
    with pytest.raises(MissingResultError):  # no claim of the paper finds its numbers
        reproduce(by_people, tmp_path, tmp_path / "parts", processes=1)
    assert MEASURED_LOGS
    assert {(log.counting, log.width) for log in MEASURED_LOGS} == {("users", 1)}


MEASURED_LOGS: list[EventLog] = []


def people(bench: Bench, trial: Trial) -> list[trials.Number]:
    MEASURED_LOGS.append(bench.log)
    return [trials.Number(metric="users", table="items", value=float(bench.truth.users))]
