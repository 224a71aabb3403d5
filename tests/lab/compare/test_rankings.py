"""Rankings compared: what each way finds of the truth, from the same budget, counted by people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.lab.compare.comparison import compare
from headcount.lab.compare.metrics import listed_precision, top_precision
from headcount.lab.compare.rankings import RankingComparison, peeled, ranked
from headcount.lab.compare.trials import Bench, Trial, Truth

ITEMS = [f"i{place}" for place in range(40)]
DAYS = ["mon", "tue"]


def visits() -> list[tuple[str, str, str]]:
    """Item n is had by 40 - n people in ten; on Tuesdays the order is turned round; the last item is a habit."""
    rows = [
        (f"u{who}", ITEMS[place if day == "mon" else 39 - place], day)
        for day in DAYS
        for who in range(400)
        for place in range(0, 40, 1 + who % 3)
        if who % 40 < 40 - place
    ]
    return [*rows, *[("bot", "i39", "tue")] * 5000]


@pytest.fixture(scope="module")
def log() -> EventLog:
    return EventLog.of(visits(), items=ITEMS, contexts=DAYS, counting="users")


@pytest.fixture(scope="module")
def bench(log: EventLog) -> Bench:
    engine = LocalEngine(threads=1)
    return Bench(log, Truth.count(log, engine), engine, 1)


@pytest.mark.parametrize("function", [ranked, peeled])
@pytest.mark.parametrize("k", [5, 20])
def test_with_nearly_no_noise_every_top_item_is_selected_in_every_context(
    bench: Bench, function: Any, k: int
) -> None:
    for per_context, table in ((False, "items"), (True, "edges")):
        trial = Trial.for_dataset("log", "top-k", epsilon="100000", k=k, per_context=per_context)
        (number,) = function(bench, trial)
        assert (number.metric, number.table, number.k) == ("precision", table, k)
        exact = bench.truth.edges.T[:-1] if per_context else bench.truth.items[None]
        best = np.mean(
            [top_precision(counts, counts, k) for counts in exact]
        )  # below 1 where place k ties with others
        assert number.value == pytest.approx(best, abs=0.05)


def test_with_nearly_no_budget_few_top_items_are_selected(bench: Bench) -> None:
    precisions = [
        next(
            iter(
                ranked(bench, Trial.for_dataset("log", "top-k", epsilon="0.001", run=run, k=4, per_context=False))
            )
        ).value
        for run in range(20)
    ]
    assert np.mean(precisions) < 0.3  # a tenth by chance; 80 draws above 24 of them: less than one in a million


def test_a_ranking_that_leaves_places_empty_finds_less() -> None:
    truth = np.array([9.0, 5.0, 5.0, 0.0])
    assert listed_precision(truth, [0, 1], 2) == 0.75
    assert listed_precision(truth, [0], 2) == 0.5
    assert listed_precision(truth, [], 2) == 0.0
    assert listed_precision(truth, [3, 2, 1, 0], 9) == 1.0


def test_users_are_ranked_whatever_the_log_counts(log: EventLog) -> None:
    """The habit of one person is 5,000 records, and no popular item."""
    study = RankingComparison(methods=("adaptive",), epsilons=("1000",), tops=(1,), runs=1)
    by_records = replace(log, counting="records")
    assert study.compared(by_records).counting == "users"


def test_everything_is_measured_for_every_k(log: EventLog, tmp_path: Path) -> None:
    study = RankingComparison(methods=("sra", "gs"), epsilons=("1", "5"), limits=(2, 9), tops=(3, 30), runs=2)
    table, facts = compare(replace(log, counting="records"), study, tmp_path / "parts", processes=1)
    assert (facts.what, facts.counted) == ("rankings", "people, of everything each person did")
    settings = {"rank": 1, "peeling": 1, "sra": 2, "gs": 2}
    for label, limits in settings.items():
        rows = [row for row in table.to_pylist() if row["label"] == label]
        assert len(rows) == limits * 2 * 2 * 2 * 2, "ε, K, tables and runs"
        assert {(row["table"], row["k"]) for row in rows} == {(t, k) for t in ("items", "edges") for k in (3, 30)}
        assert all(0 <= row["value"] <= 1 for row in rows)
    assert not pa.compute.any(pa.compute.is_valid(table["refused"])).as_py()


def test_more_places_than_items_are_refused_and_counts_are_not(log: EventLog, tmp_path: Path) -> None:
    study = RankingComparison(methods=("sra",), epsilons=("1",), limits=(2,), tops=(41,), runs=1)
    table, _ = compare(replace(log, context=None), study, tmp_path / "parts", processes=1)
    refused = {row["label"]: row["refused"] for row in table.to_pylist()}
    assert "at most 40" in refused["rank"]
    assert refused["sra"] is None


@pytest.mark.parametrize("tops", [(), (3, 3)])
def test_lists_are_checked(tops: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="tops must be a list without repetitions"):
        RankingComparison(tops=tops)


def test_with_delta_rankings_and_what_has_gaussian_noise_have_it(log: EventLog, tmp_path: Path) -> None:
    study = RankingComparison(
        methods=("sra", "gs"), epsilons=("5",), limits=(2,), tops=(12,), runs=1, deltas=("1e-6",)
    )
    table, _ = compare(log, study, tmp_path / "parts", processes=1)
    assert not pa.compute.any(pa.compute.is_valid(table["refused"])).as_py()
    deltas = {row["label"]: row["delta"] for row in table.to_pylist()}
    assert deltas == {"rank": 1e-6, "peeling": 1e-6, "sra": 1e-6, "gs": None}
    with pytest.raises(UsageError, match="compared with one δ"):
        RankingComparison(deltas=("1e-6", "1e-9"))
