"""The selection of items compared: how many are found, and how much of the log they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import headcount as hc
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.lab.compare.cached_logs import RawLog, cache_log, with_every_item
from headcount.lab.compare.comparison import compare
from headcount.lab.compare.selections import SelectionComparison, selected
from headcount.lab.compare.trials import Bench, Trial, Truth


def visits() -> list[tuple[str, str]]:
    """Tea is had by 900 people, rye by 500, and 40 others by one person each."""
    common = [(f"u{who}", item) for item, many in (("tea", 900), ("rye", 500)) for who in range(many)]
    return [*common, *[(f"u{who}", f"own {who}") for who in range(40)]]


@pytest.fixture(scope="module")
def log() -> EventLog:
    return EventLog.of(visits(), items=None)


def test_what_is_selected_and_covered(log: EventLog) -> None:
    engine = LocalEngine(threads=1)
    bench = Bench(log, Truth.count(with_every_item(log), engine), engine, 1)
    assert bench.truth.items.size == 42
    trial = Trial.for_dataset("log", "selection", epsilon="4", delta="1e-9", share="0.5", limit=2)
    metrics = {number.metric: number.value for number in selected(bench, trial)}
    assert metrics == {"selected": 2.0, "covered": 1400 / 1440}  # but for one in a million: δ


def test_shares_deltas_and_limits_are_compared(log: EventLog, tmp_path: Path) -> None:
    study = SelectionComparison(
        epsilons=("0.02", "0.1", "4"), limits=(1, 2), shares=("0.1", "0.5"), deltas=("1e-6", "1e-9"), runs=2
    )
    table, facts = compare(log, study, tmp_path / "parts", processes=1)
    assert (facts.what, facts.items, facts.records) == ("selection", 42, 1440)
    assert table.num_rows == 3 * 3 * 2 * 2 * 2 * 2, "ε, limits and none, shares, δ, runs, metrics"
    rows = [row for row in table.to_pylist() if row["metric"] == "selected"]
    assert {row["label"] for row in rows if row["limit"] is None} == {
        f"{share} of ε, δ {delta}" for share in ("0.1", "0.5") for delta in ("1e-6", "1e-9")
    }
    assert {row["value"] for row in rows if row["epsilon"] == 4 and row["limit"] == 2} == {2.0}
    assert {row["value"] for row in rows if row["epsilon"] == 0.02 and row["limit"] == 2} == {0.0}
    between = [row for row in rows if row["epsilon"] == 0.1 and row["limit"] == 1 and row["delta"] == 1e-6]
    settings = {
        share: [row["value"] for row in between if f'"{share}"' in row["parameters"]] for share in ("0.1", "0.5")
    }
    assert max(settings["0.1"]) < min(settings["0.5"]), "a larger share finds more"


def test_a_log_is_kept_as_it_came_and_read_again_in_the_same_words(tmp_path: Path) -> None:
    """Texts of a CSV file with contexts, conditions and times, and rows that do not count."""
    rows = {
        "who": ["ann", "bob", None, "cyn", "dan"],
        "what": ["tea", "rye", "oat", "", "fig"],
        "when": ["2026-03-06T10:00:00", "never", "2026-03-06", "2026-03-07", "2026-03-08"],
        "times": ["2", "1", "1", "1", "1"],
        "stars": ["5", "4", "4", "4", "1"],
    }
    pacsv.write_csv(pa.table(rows), tmp_path / "visits.csv")
    words: dict[str, Any] = {
        "context": "weekday:when",
        "where": "stars >= 2",
        "times": "times",
        "context_of": "user",
    }
    log = hc.read_events(tmp_path / "visits.csv", user="who", item="what", select_items=True, **words)
    kept = cache_log(log, tmp_path / "kept", lambda *_: None)
    assert isinstance(kept, RawLog)
    again = kept.open()
    assert again.describe() == log.describe()
    assert kept.counted().catalogue.ids == ("rye", "tea"), "of rows that count"
    exact = [Truth.count(with_every_item(event_log), LocalEngine()) for event_log in (log, again)]
    assert exact[0].edges.tolist() == exact[1].edges.tolist()
    assert kept.fingerprint != replace(kept, words=kept.words.replace("2", "3")).fingerprint


def test_listed_contexts_come_back(tmp_path: Path) -> None:
    log = EventLog.of([("ann", "tea", "a,b")], items=None, contexts=["a,b", "c"])
    again = cache_log(log, tmp_path / "kept", lambda *_: None).open()
    assert again.context == log.context
    empty = cache_log(EventLog.of([], items=None), tmp_path / "none", lambda *_: None)
    assert empty.counted().catalogue.ids == ()


def test_a_catalogue_leaves_nothing_to_select() -> None:
    with pytest.raises(UsageError, match="nothing is selected"):
        SelectionComparison().compared(EventLog.of([], items=["tea"]))


@pytest.mark.parametrize(("field", "value"), [("shares", ("1",)), ("shares", ("0",)), ("deltas", ("2",))])
def test_shares_and_deltas_are_checked(field: str, value: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        SelectionComparison(**{field: value})  # type: ignore[arg-type]
