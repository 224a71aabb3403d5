"""The thesis on PNCF again: which ratings are read, what is measured, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from headcount.engines.local.engine import LocalEngine
from headcount.lab.as_published.pncf_operations import Mechanism
from headcount.lab.compare.trials import Bench, Trial, Truth, run_name, seed_of
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.recommender import neighbourhood as plain
from headcount.lab.recommender.candidates import split_one_per_user
from headcount.lab.replicate import pncf
from headcount.lab.replicate.paper import Effort, gather
from headcount.lab.replicate.pncf import PNCF, measured, neighbourhood, ratings_in, settings, with_ratings
from headcount.lab.replicate.pncf_derived_rows import KS, MOST, derived, paired, tables
from headcount.lab.replicate.results import Results, Row, table_of
from tests.lab.replicate import papers

USUAL, QUICK = Effort(quick=False, runs=20), Effort(quick=True, runs=3)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    return gather(PNCF.claims, papers.shared(tmp_path_factory.mktemp("shared")))[0]


@pytest.fixture(scope="module")
def bench(datasets: dict[str, Dataset]) -> Bench:
    log, engine = with_ratings(datasets["MovieLens"]), LocalEngine(threads=1)
    return Bench(log, Truth.count(log, engine), engine, 7)


def trial(run: int = 0, epsilon: str = "1", **words: Any) -> Trial:
    return Trial.for_dataset("MovieLens", "item-pcc", epsilon=epsilon, run=run, function="x:y", **words)


def test_ratings_are_those_of_the_users_who_rated(datasets: dict[str, Dataset]) -> None:
    """The last five people of the larger log have no ratings; without them it is the smaller one."""
    larger, smaller = (ratings_in(with_ratings(datasets[name])) for name in ("MovieLens", "Netflix"))
    assert larger.n_users == smaller.n_users == 55
    assert sorted(larger.values.tolist()) == sorted(smaller.values.tolist())
    assert set(larger.values.tolist()) == {1.0, 2.0, 3.0, 4.0, 5.0}


def test_every_trial_of_a_run_has_the_same_split_and_every_run_another(bench: Bench) -> None:
    words: dict[str, Any] = {"configuration": "item-cos", "as": "non-private", "ks": (2, 5)}
    errors = [{row.k: row.value for row in measured(bench, trial(run, **words))} for run in (0, 0, 1)]
    assert errors[0] == errors[1] != errors[2]
    ratings = ratings_in(bench.log)
    for run, run_errors in ((0, errors[0]), (1, errors[2])):
        split = split_one_per_user(ratings, seed_of(7, run_name(7, "MovieLens", run)))
        for k, value in run_errors.items():
            assert k is not None
            predicted = plain.predict(split.train, split.queries, neighbourhood("item-cos", k))
            assert value == pytest.approx(split.mean_absolute_error(predicted))


def test_mechanisms_are_those_of_the_thesis() -> None:
    mechanisms = {name: Mechanism(epsilon=1.0, **words) for name, words in pncf.MECHANISMS.items()}
    assert [(mechanism.sensitivity, mechanism.truncated) for mechanism in mechanisms.values()] == [
        ("recommendation", True),
        ("recommendation", False),
        ("global", False),
    ]


def test_private_methods_are_measured_with_their_noise(bench: Bench) -> None:
    for method in pncf.MECHANISMS:
        words: dict[str, Any] = {"configuration": "item-pcc", "as": method, "ks": (3,)}
        rows = [list(measured(bench, trial(epsilon=epsilon, **words))) for epsilon in ("1", "1", "0.1")]
        assert rows[0] == rows[1] != rows[2]
        named = {row.metric for row in rows[0]}
        assert ("share of similarities that truncation raises" in named) == (method == "PNCF")
        assert all(math.isfinite(row.value) for row in rows[0])


def test_the_users_mean_needs_no_neighbours(bench: Bench) -> None:
    words: dict[str, Any] = {"as": "user mean", "ks": (5, 10)}
    rows = list(pncf.without_neighbours(bench, trial(**words)))
    assert [row.k for row in rows] == [5, 10]
    assert rows[0].value == rows[1].value > 0


def test_the_settings_cover_all_configurations_and_quick_ones_fewer_epsilons(datasets: dict[str, Dataset]) -> None:
    usual, quick = (list(settings(effort, datasets)) for effort in (USUAL, QUICK))
    assert len(usual) > len(quick)
    names = {(setting.experiment, setting.method) for setting in usual}
    for configuration in ("item-pcc", "item-cos", "user-pcc", "user-cos"):
        assert {(configuration, method) for method in ("non-private", "PNCF", "DP", "RS&NM", "user mean")} <= names
    assert {(setting.experiment, setting.method) for setting in quick} == names
    for plan, many in ((usual, 10), (quick, 4)):
        budgets = [
            setting.x
            for setting in plan
            if setting.experiment == "budget user-pcc" and setting.dataset == "Netflix"
        ]
        assert len(budgets) == many
        assert {0.1, 0.4, 0.7, 1.0} <= set(budgets)


def rows_of(error: dict[str, float]) -> Iterator[Row]:
    """Rows whose MAE is the method's own, less a little for each k, and more in the second run."""
    for configuration in ("item-pcc", "item-cos", "user-pcc", "user-cos"):
        for method, value in error.items():
            for k in KS:
                for run in (0, 1):
                    mae = value - k * 1e-3 * value + run * 1e-2
                    yield Row(configuration, "Netflix", method, "items", 1.0, float(k), "MAE", None, run, mae)
    for configuration in ("item-pcc", "user-pcc"):
        for epsilon, mae in ((0.1, 1.0), (0.4, 0.85), (0.7, 0.81), (1.0, 0.8)):
            for run in (0, 1):
                yield Row(
                    f"budget {configuration}", "Netflix", "PNCF", "items", None, epsilon, "MAE", None, run, mae
                )


ERRORS = {"non-private": 0.7, "PNCF": 0.75, "RS&NM": 0.76, "DP": 0.9}


def test_ratios_costs_and_tests_follow_run_by_run() -> None:
    rows = list(derived(Results(table_of(rows_of(ERRORS)))))
    values = {
        (result.experiment, result.method, result.metric, result.x, result.run): result.value for result in rows
    }
    at = 1 - 0.04
    assert values["item-cos", "PNCF", "MAE over that of DP", 40.0, 0] == pytest.approx(0.75 / 0.9)
    first = (0.75 * at + 0.01) / (0.9 * at + 0.01)
    assert values["item-cos", "PNCF", "MAE over that of DP", 40.0, 1] == pytest.approx(first)
    assert values["user-pcc", "RS&NM", "MAE over that of non-private", 40.0, 0] == pytest.approx(0.76 / 0.7)
    assert values["user-pcc", "PNCF", "cost over that of DP", 5.0, 1] == pytest.approx(0.05 / 0.2)
    one_run = [
        result._replace(value=0.7) if (result.method, result.run) == ("DP", 0) else result
        for result in rows_of(ERRORS)
    ]
    again = [result for result in derived(Results(table_of(one_run))) if result.metric == "cost over that of DP"]
    assert max(result.value for result in again) < 1  # in one run DP costs nothing
    assert values["budget item-pcc", "PNCF", "share of the fall up to 0.4", None, 0] == pytest.approx(0.75)
    assert values["budget item-pcc", "PNCF", "MAE at 0.7 over that at 1", None, 1] == pytest.approx(0.81 / 0.8)
    t = values["t-tests", "PNCF", "t against DP, item-pcc", None, 0]
    apart = [0.15 * (1 - k * 1e-3) for k in KS]
    assert t == pytest.approx(np.mean(apart) / (np.std(apart, ddof=1) / math.sqrt(10)))
    assert values["t-tests", "PNCF", "-log10 p against DP, item-pcc", None, 0] > 4


def test_paired_tests_without_any_spread() -> None:
    assert paired([1.0, 2.0], [1.0, 2.0]) == (0.0, 0.0)
    assert paired([1.0, 2.0], [2.0, 3.0]) == (MOST, MOST)


def test_tables_show_the_maes_and_what_is_really_guaranteed() -> None:
    shown = tables(table_of(rows_of(ERRORS)), "overall")
    assert [shown_table["title"] for shown_table in shown] == [
        "Table 3.1 again: MAE, Netflix",
        "What each method really guarantees",
    ]
    assert shown[0]["columns"] == ["by", "k", "non-private", "PNCF", "RS&NM", "DP"]
    assert len(shown[0]["rows"]) == 40
    assert shown[0]["rows"][0] == ["items, Pearson", "5", "0.7015", "0.7512", "0.7612", "0.9005"]
    assert ["RS&NM", "as PNCF"] in shown[1]["rows"]
    assert tables(table_of(rows_of(ERRORS)), "budget") == ()
