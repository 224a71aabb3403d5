"""What is derived of PriTop's runs is what its claims and charts look for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from headcount.events.log import EventLog
from headcount.events.tag_log import Tagging
from headcount.lab.as_published.pritop_operations import Replaced
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.datasets.parsed import Sizes
from headcount.lab.replicate import pritop
from headcount.lab.replicate.claims.verdicts import judge_all
from headcount.lab.replicate.pages.page import chart_rows
from headcount.lab.replicate.paper import Effort, Reproduction
from headcount.lab.replicate.pritop import PRITOP
from headcount.lab.replicate.results import Results, Row, table_of

ABSENT = {"Del.icio.us": "not published", "Bibsonomy": "not published"}
HERE = ("Last.fm", "MovieLens")


def measured(*, quick: bool) -> Iterator[Row]:
    """Return rows as the runs of a reproduction leave them, with made-up numbers."""
    draws = np.random.default_rng(1)
    for name in HERE:
        for metric in ("records", "users", "resources", "tags"):
            yield Row("sizes", name, "log", "items", None, None, metric, None, 0, 5.0)
        for run in range(3):
            for many in pritop.QUICK_TOPICS if quick else pritop.TOPICS:
                words = ("measured losses", name, "pritop-published", "items", None, float(many))
                for epsilon in pritop.LOSS_EPSILONS:
                    yield Row(*words, "SLoss", epsilon, run, 0.5 - many / 1000 + draws.random() / 1e6)
                if many == 10:
                    yield Row(*words, "share of users that lose more than α", None, run, 0.9)
                    for group, value in (("users with many tags", 0.2), ("users with fewer tags", 0.3)):
                        yield Row(*words, "loss in the perturbation", group, run, value)
                if many == 100:
                    yield Row(*words, "SLoss", "suppression (0.8)", run, 0.2)
                    yield Row(*words, "share of users that meet the condition on Q", None, run, 0.0)
            epsilons = pritop.QUICK_EPSILONS if quick else pritop.EPSILONS
            names = [*pritop.LISTS.values(), *(f"pritop-published (ε = {epsilon})" for epsilon in epsilons)]
            for key in dict.fromkeys(names):
                for metric in ("recall", "precision"):
                    for n in range(1, 11):
                        value = (0.02 if key.startswith("pritop") else 0.04) * n + draws.random() / 1e6
                        yield Row("measured lists", name, "all", "items", None, float(n), metric, key, run, value)


def reproduction(*, quick: bool) -> Reproduction:
    rows = list(measured(quick=quick))
    table = table_of([*rows, *pritop.derived(Results(table_of(rows)))])
    verdicts = judge_all(PRITOP.claims, Results(table), ABSENT, [])
    log = EventLog.of([("ann", "tea")], items=["tea"])
    data = {name: Dataset(name, log, "shared", "", "", sizes=Sizes(1, 1, 1)) for name in HERE}
    return Reproduction(PRITOP, PRITOP.claims, table, verdicts, data, ABSENT, Effort(quick, 3), 1, 0.0)


@pytest.mark.parametrize("quick", [True, False])
def test_every_claim_is_judged_and_every_chart_has_curves(quick: bool) -> None:
    """No rule looks for what is not there, whichever grid is run."""
    done = reproduction(quick=quick)
    untried = {verdict.claim.id for verdict in done.verdicts if verdict.verdict == "not testable"}
    own = {claim.id for claim in PRITOP.claims.claim if {case.dataset for case in claim.cases} <= {*ABSENT}}
    assert untried == own
    charts = {
        chart.name: chart_rows(done, chart)
        for part in PRITOP.claims.section
        for chart in part.drawn(done.datasets)
    }
    assert all(charts.values())
    losses = {row["method"] for row in charts["loss-lastfm"]}
    assert losses == {
        *(f"pritop-published (ε = {epsilon})" for epsilon in pritop.LOSS_EPSILONS),
        "suppression (0.8)",
    }
    for name in ("budget-lastfm", "budget-precision-lastfm"):
        assert {row["method"] for row in charts[name]} == {"N = 1", "N = 5", "N = 10"}
        assert {row["x"] for row in charts[name]} >= {0.1, 0.5, 1.0}


def test_numbers_are_put_in_relation_run_by_run() -> None:
    ratios: dict[Any, float] = {}
    for row in pritop.derived(Results(table_of(measured(quick=False)))):
        if row.dataset == "Last.fm" and row.run == 0:
            ratios[row.experiment, row.metric, row.method, row.epsilon, row.x] = row.value
    ours = "pritop-published (ε = 1)"
    assert ratios["ratios", "recall over suppression (0.8)", ours, None, None] == pytest.approx(0.5, abs=1e-4)
    assert ratios["ratios", "recall over the true data", ours, None, None] == pytest.approx(0.5, abs=1e-4)
    assert ratios["t-test", "t of recall", ours, None, None] < -5
    assert ratios["semantic loss", "SLoss", "pritop-published", 0.3, 40.0] == pytest.approx(0.46, abs=1e-4)
    assert ratios["semantic loss", "over suppression", "pritop-published", 0.3, 40.0] == pytest.approx(
        2.3, abs=1e-4
    )
    for name in ("K up to 60", "K from 60 on"):
        assert ratios["topics", "fall of SLoss per topic", name, 1.0, None] == pytest.approx(0.001, abs=1e-4)


def test_theorems_are_tried_on_those_they_speak_of() -> None:
    tags = [*range(20), *range(3)]
    user = np.array([0] * 20 + [2] * 3)
    tagging = Tagging.from_codes(user, tags, tags, people=3, resources=20, tags=20)
    stays = np.array([True] * 17 + [False] * 3 + [True] * 3)
    nothing = np.empty(0, dtype=int)
    done = Replaced(
        tagging,
        np.array(tags),
        nothing,
        nothing,
        user,
        np.array([0] * 20 + [1] * 3),
        stays,
        np.ones(23),
        np.array([5, 1]),
    )
    first = {(result.metric, result.key): result.value for result in pritop.theorems(tagging, done, 10)}
    assert first == {
        ("loss in the perturbation", "users with many tags"): pytest.approx(0.15),
        ("loss in the perturbation", "users with fewer tags"): 0.0,
        ("share of users that lose more than α", None): 1.0,
    }
    [second] = pritop.theorems(tagging, done, 100)
    assert second.value == 0.5  # the topic of user 2 has one tag, that of user 0 five; user 1 has none
    assert list(pritop.theorems(tagging, done, 50)) == []


def test_what_is_run_are_the_settings_of_the_thesis() -> None:
    data: Any = {"Last.fm": None}
    settings = list(PRITOP.settings(Effort(quick=False, runs=5), data))
    losses = [setting.x for setting in settings if setting.experiment == "measured losses"]
    assert losses == [10.0 * setting for setting in range(1, 11)]
    assert len(settings) == 12
    assert len(list(PRITOP.settings(Effort(quick=True, runs=2), data))) == 5


def test_no_figure_table_or_theorem_of_chapter_4_is_passed_over() -> None:
    """Table 4.1, how ε is divided, is the method itself; tests of its noise are in tests/lab/published."""
    figures = [f"figure 4.{number}" for number in range(1, 6)]
    named = {claim.figure for claim in PRITOP.claims.claim}
    assert named == {*figures, "table 4.2", "table 4.3", "theorem 4.4.1", "theorem 4.4.2"}
