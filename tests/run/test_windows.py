"""Budgets that come back, from logs to releases: a request reads its span alone, and is charged for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.zcdp import rho_for
from headcount.errors import RefusedError, UsageError
from headcount.events.tag_log import read_tags
from headcount.events.user_table import read_people
from headcount.ledger.event_time_windows import Windows
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.rankings.request import RankRequest
from headcount.methods.request import ChargedRequest
from headcount.noise import SeededNoise
from headcount.run.charge import span_of
from headcount.run.prepare import prepare_request

NOVEMBER: dict[str, Any] = {"time": "when", "since": "2026-11-01", "until": "2026-12-01"}
LISTED: dict[str, Any] = {"user": "who", "item": "what", "items": ["rye", "tea"]}
Records = list[tuple[str, str, str | None]]
INSIDE: Records = [
    ("ann", "tea", "2026-11-01"),
    ("ann", "rye", "2026-11-30T23:59:59.999999"),
    ("bob", "tea", "2026-12-01T00:30:00+01:00"),  # 23:30 in UTC
    ("cyn", "tea", "2026-11-11T11:11:11Z"),
]
ZOE: Records = [("zoe", "tea", "2026-11-02")] * 40
OUTSIDE: Records = [
    ("dan", "tea", "2026-10-31T23:59:59.999999"),
    ("dan", "rye", "2026-12-01"),
    ("eve", "tea", "2026-11-01T00:30:00+01:00"),
    ("fay", "tea", None),
    ("gus", "rye", "in November"),
]


def table(records: Records) -> pa.Table:
    users, items, times = zip(*records, strict=True)
    return pa.table({"who": users, "what": items, "when": pa.array(times, pa.string())})


def log(records: Records, **words: Any) -> hc.EventLog:
    return hc.read_events(table(records), **{**LISTED, **NOVEMBER, **words})


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[hc.Ledger]:
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)
    with hc.Ledger(f"sqlite:///{tmp_path}/db", key=tmp_path / "key", anchor=tmp_path / "anchor") as opened:
        opened.create("town", "100", window="1mo", time="when")
        yield opened


def account(ledger: hc.Ledger) -> dict[str, Any]:
    return {"ledger": ledger, "dataset": "town@1", "analyst": "ann"}


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(ReleaseRequest(epsilon=Decimal(1)), marks=pytest.mark.slow),  # much is compiled for it
        ReleaseRequest(epsilon=Decimal(1), method="dpsense"),
        *(ReleaseRequest(epsilon=Decimal(1), method=name, limit=2) for name in ("sra", "hpa", "lpa", "fpa", "gs")),
        RankRequest(epsilon=Decimal(1), k=1),
    ],
    ids=lambda method: getattr(method, "method", "rank"),
)
def test_a_user_without_events_in_the_span_has_no_effect(request_: ChargedRequest) -> None:
    """The step of the proof that windows rest on: such a person costs nothing, to the last byte."""
    tables = []
    for records in (INSIDE, OUTSIDE[:3] + INSIDE + OUTSIDE[3:]):
        ready = prepare_request(request_, log(records))
        tables.append(ready.method.release(ready.log, request_.grant(), SeededNoise(7)))
    assert tables[0].tables == tables[1].tables
    ready = prepare_request(request_, log(INSIDE + ZOE))
    inside = ready.method.release(ready.log, request_.grant(), SeededNoise(7))
    assert inside.tables != tables[0].tables or "ranking" in inside.tables  # somebody inside does


def test_a_release_is_charged_to_its_windows_and_says_so(ledger: hc.Ledger, tmp_path: Path) -> None:
    release = hc.release(log(INSIDE + OUTSIDE), epsilon="50", method="sra", limit=2, **account(ledger))
    assert [round(count) for count in release.items["count"].to_pylist()] == [1, 3]
    assert release.guarantee.short().endswith("per person within each window of 1 month")
    assert "adds up over the windows" in release.guarantee.sentence()
    release.save(tmp_path / "out")
    assert hc.load(tmp_path / "out").guarantee == release.guarantee
    (window,) = ledger.show("town").windows
    assert (window.dates, window.epsilon) == ("from 2026-11-01 to 2026-12-01", Decimal(50))
    free = hc.release(log(INSIDE + OUTSIDE), epsilon="50", method="sra", limit=2, **account(ledger))
    assert free.earlier is not None


@pytest.mark.parametrize("words", [{"time": None, "since": None, "until": None}, {"since": None}, {"until": None}])
def test_without_a_span_nothing_is_reserved_or_read(ledger: hc.Ledger, words: dict[str, None]) -> None:
    with pytest.raises(UsageError, match="add since= and until="):
        hc.release(log(INSIDE, **words), epsilon="1", **account(ledger))
    assert len(ledger.history()) == 1


def test_what_would_read_the_same_rows_as_another_month_is_refused(ledger: hc.Ledger) -> None:
    """Another column, format or zone would put a row into another window, whose budget is whole."""
    hc.release(log(INSIDE), epsilon="100", **account(ledger))
    moved = table(INSIDE).append_column("signed_up", table(INSIDE)["when"])
    october = {"since": "2026-10-01", "until": "2026-11-01"}
    for words in ({"time": "signed_up"}, {"timezone": "Asia/Tokyo"}, {"time_format": "%Y-%d-%m"}):
        other = hc.read_events(moved, **{**LISTED, **NOVEMBER, **october, **words})
        with pytest.raises(UsageError, match='use time="when"'):
            hc.release(other, epsilon="1", **account(ledger))
    with pytest.raises(RefusedError, match="from 2026-11-01 to 2026-12-01 has spent"):
        hc.release(log(INSIDE, since="2026-11-30"), epsilon="1", **account(ledger))


@pytest.mark.parametrize(
    ("words", "months"),
    [
        ({}, 1),
        ({"until": "2026-12-01T00:00:00.000001"}, 2),
        ({"since": "2026-11-01T00:00:00+01:00"}, 2),
        ({"since": "2026-11-01T00:00:00-01:00"}, 1),
        ({"timezone": "Europe/Berlin"}, 2),  # begins an hour before November does in UTC
        ({"timezone": "America/New_York", "until": "2026-11-30T19:00:00"}, 1),
    ],
)
def test_the_windows_that_are_charged_hold_every_row_that_is_read(words: dict[str, str], months: int) -> None:
    """Against the rows themselves: each one that fulfils the condition lies in a window that is touched."""
    windowed_log = log(INSIDE, **words)
    span = span_of(windowed_log)
    assert span is not None
    windows = Windows.parse("1mo", time="when", timezone=words.get("timezone"))
    assert windows is not None
    touched = windows.touched(span)
    assert len(touched) == months
    hours = [f"2026-{month:02}-{day:02}T{hour:02}:00:00{zone}" for month in (10, 11, 12) for day in (1, 30)
             for hour in range(24) for zone in ("", "Z", "+05:30")]  # fmt: skip
    (condition,) = windowed_log.conditions
    batch = pa.record_batch({"when": hours})
    moments, _ = condition.time.instants(batch.column("when"))  # type: ignore[attr-defined]
    held = condition.holds(batch)
    assert held.any()
    assert {windows.number(int(moment)) for moment in moments[held]} <= set(touched)


def test_a_time_that_cannot_be_read_is_in_no_window() -> None:
    """Not in that of 1970 either, where one would be that is taken for zero."""
    windowed_log = log(OUTSIDE, since="1969-12-01", until="1970-02-01")
    (condition,) = windowed_log.conditions
    (batch,) = table([*OUTSIDE, ("hal", "tea", "1970-01-01")]).combine_chunks().to_batches()
    assert condition.holds(batch).tolist() == [False] * len(OUTSIDE) + [True]


def test_a_plan_says_which_windows_and_what_is_left_in_the_fullest(ledger: hc.Ledger) -> None:
    from headcount.run.curator import Curator, charging_of

    hc.release(log(INSIDE), epsilon="99", **account(ledger))
    charging = charging_of(ledger, dataset="town@1", analyst="ann", again=False)
    curator = Curator(charging=charging)
    ready = curator.prepare(ReleaseRequest(epsilon=Decimal(1)), log(INSIDE, since="2026-10-31"))
    plan = curator.plan(ready).to_json()
    assert plan["ledger"]["left"] == "1"
    assert [window["since"] for window in plan["ledger"]["windows"]] == ["2026-10-01", "2026-11-01"]
    assert plan["guarantee"]["window"] == "1 month"


def test_sessions_tags_and_rankings_are_charged_by_window_as_well(ledger: hc.Ledger) -> None:
    people = read_people(table(INSIDE), user="who", **NOVEMBER)
    bins = {"what": {"values": ["rye", "tea"]}}
    with pytest.raises(UsageError, match="add since= and until="):
        hc.QuerySession(
            read_people(table(INSIDE), user="who"), epsilon="1", bins=bins, ledger=ledger, dataset="town"
        )
    with hc.QuerySession(people, epsilon="1", bins=bins, ledger=ledger, dataset="town") as session:
        assert session.guarantee.window == session.release().guarantee.window == "1 month"
    hc.rank(log(INSIDE), k=1, epsilon="2", **account(ledger))
    tagged = table(INSIDE).append_column("tag", pa.array(["a"] * len(INSIDE)))
    words: dict[str, Any] = {
        "user": "who",
        "resource": "what",
        "tag": "tag",
        "resources": ["rye", "tea"],
        "vocabulary": ["a", "b"],
    }
    hc.release_tags(read_tags(tagged, **words, **NOVEMBER), epsilon="3", **account(ledger))
    (window,) = ledger.show("town").windows
    assert window.epsilon == 6


@pytest.mark.slow
def test_gaussian_noise_charges_its_rho_to_every_window(ledger: hc.Ledger) -> None:
    amounts: dict[str, Any] = {"delta": "1e-5", "filter": "zcdp", "lifetime": "6", "lifetime_delta": "1e-4"}
    ledger.create("rho", "2", **amounts, window="1mo", time="when")
    request: dict[str, Any] = {"epsilon": "1", "delta": "1e-6", "noise": "gaussian", "method": "sra", "limit": 2}
    where: dict[str, Any] = {**account(ledger), "dataset": "rho"}
    hc.release(log(INSIDE, since="2026-10-01"), **request, **where)
    hc.release(log(INSIDE), **request, **where)
    whole = ledger.show("rho")
    october, november = (window.spent.loss for window in whole.windows)
    assert october == rho_for(Decimal(1), Decimal("1e-6"))
    assert whole.spent.loss == november == 2 * october
    assert ledger.verify().ok


def test_a_packed_store_has_the_span_that_it_was_packed_with(ledger: hc.Ledger, tmp_path: Path) -> None:
    store = hc.pack(log(INSIDE + OUTSIDE), tmp_path / "store")
    release = hc.release(hc.read_events(store), epsilon="50", method="sra", limit=2, **account(ledger))
    assert [round(value) for value in release.items["count"].to_pylist()] == [1, 3]
    assert [value.epsilon for value in ledger.show("town").windows] == [50]
    whole = hc.pack(hc.read_events(table(INSIDE), **LISTED), tmp_path / "whole")
    with pytest.raises(UsageError, match="add since= and until="):
        hc.release(hc.read_events(whole), epsilon="1", **account(ledger))
