"""``headcount ledger create --window``, and charged commands on such a budget, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headcount.engines.local.engine import LocalEngine
from tests.cli.conftest import FLAGS, RELEASE, Run

pytestmark = pytest.mark.usefixtures("own_keys")

CREATE = ("ledger", "create", "--dataset", "visits", "--epsilon", "1")
CHARGED = ("--ledger", "sqlite:///headcount.db", "--dataset", "visits@1", "--analyst", "ann")
MARCH = ("--time", "time", "--since", "2026-03-01", "--until", "2026-04-01")
SPRING = ("--time", "time", "--since", "2026-03-06", "--until", "2026-05-07")


@pytest.fixture
def monthly(run: Run, work: Path, own_keys: None) -> None:
    created = run(*CREATE, "--window", "1mo", "--time", "time", "--lifetime", "1.5")
    assert created.code == 0, created.err
    assert "visits: ε = 1 in each window of 1 month." in created.out


def rank(run: Run, *flags: str, epsilon: str = "0.5") -> Any:
    return run("rank", "visits.csv", *FLAGS, "-k", "1", "--epsilon", epsilon, *CHARGED, *flags)


def left(run: Run) -> dict[str, str]:
    (account,) = run("ledger", "show", "--json").data
    return {window["window"]["since"]: window["epsilon"]["left"] for window in account["windows"]}


@pytest.mark.usefixtures("monthly")
def test_a_span_is_charged_to_all_windows_that_it_touches(run: Run, work: Path) -> None:
    assert run(*RELEASE, *CHARGED, *MARCH, "--out", "march").code == 0
    assert left(run) == {"2026-03-01": "0"}
    charge = json.loads((work / "march/release.json").read_text(encoding="utf-8"))
    assert charge["guarantee"]["window"] == "1 month"
    assert "within each window of 1 month" in run("explain", "march").out
    assert "within each window of 1 month" in run("top", "march").out
    refused = rank(run, *SPRING)
    assert refused.code == 1
    assert refused.complaint.startswith("visits from 2026-03-01 to 2026-04-01 has spent ε = 1 of 1")
    assert left(run) == {"2026-03-01": "0"}
    later = rank(run, "--time", "time", "--since", "2026-04-01", "--until", "2026-05-07")
    assert later.code == 0
    assert left(run) == {"2026-03-01": "0", "2026-04-01": "0.5", "2026-05-01": "0.5"}
    over = rank(run, "--time", "time", "--since", "2026-06-01", "--until", "2026-06-07")
    assert over.code == 1
    assert "over all windows has spent ε = 1.5 of 1.5" in over.complaint
    assert run("ledger", "verify", "march").code == 0
    shown = run("ledger", "show").out.splitlines()
    assert " ".join(shown[0].split()) == "dataset analyst window budget ε spent left published open refunded"
    assert shown[1].split()[:5] == ["visits", "all", "1.5", "1.5", "0"]
    history = " ".join(run("ledger", "history").out.split())
    assert "from 2026-04-01T00:00:00 to 2026-05-07T00:00:00" in history
    assert "in each window of 1mo, 1.5 in all" in history


@pytest.mark.slow
@pytest.mark.usefixtures("monthly")
def test_a_report_shows_the_budget_of_every_window(run: Run, work: Path) -> None:
    assert run(*RELEASE, *CHARGED, *MARCH, "--out", "march").code == 0
    assert run("report", "march", "--to", "march.html").code == 0
    assert "within each window of 1 month" in (work / "march.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("monthly")
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "does not say from when until when it reads; add --since and --until (with --time time)"),
        (MARCH[:4], "does not say until when"),
        (("--time", "age", *MARCH[2:]), "this request has --time age; use --time time"),
        ((*MARCH, "--timezone", "Asia/Tokyo"), "this request has --time time --timezone Asia/Tokyo"),
    ],
)
def test_a_request_that_could_touch_any_window_is_refused_before_anything_is_read(
    run: Run, flags: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("events were read")

    monkeypatch.setattr(LocalEngine, "measure", read)
    for dry in ((), ("--dry-run",)):
        refused = rank(run, *flags, *dry)
        assert refused.code == 2
        assert message in refused.complaint
    assert left(run) == {}


@pytest.mark.usefixtures("monthly")
def test_a_dry_run_says_which_windows_and_what_is_left(run: Run) -> None:
    assert rank(run, *MARCH).code == 0
    dry = rank(run, *SPRING, "--dry-run")
    assert "in each of 3 windows of 1 month, from 2026-03-01 to 2026-06-01" in " ".join(dry.out.split())
    assert "ε = 0.5 in the fullest of them, before this" in " ".join(dry.out.split())
    plan = rank(run, *SPRING, "--dry-run", "--json").data["ledger"]
    assert plan["left"] == "0.5"
    assert plan["windows"][0] == {"since": "2026-03-01", "until": "2026-04-01"}
    assert left(run) == {"2026-03-01": "0.5"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--window", "30"), "--window must be a number of days, weeks or months"),
        (("--window", "30d"), "name it with --time COL"),
        (("--window", "30d", "--time", "t", "--timezone", "Nowhere"), "Nowhere"),
        (("--window", "30d", "--time", "t", "--time-format", "min@soon"), "soon"),
        (("--window", "30d", "--time", "t", "--lifetime", "0.5"), "smaller than the budget of one window"),
        (("--lifetime", "5"), "--lifetime is given without --window"),
        (("--origin", "2026-01-01"), "--origin is given without --window"),
    ],
)
def test_invalid_windows_are_refused_and_nothing_is_created(
    run: Run, work: Path, flags: tuple[str, ...], message: str
) -> None:
    refused = run(*CREATE, *flags)
    assert refused.code == 2
    assert message in refused.complaint
    assert not (work / "headcount.db").exists()


def test_of_many_windows_the_latest_are_shown(run: Run, work: Path) -> None:
    assert run(*CREATE, "--window", "1d", "--time", "time").code == 0
    assert rank(run, *MARCH).code == 0
    shown = run("ledger", "show")
    assert "2026-03-31 to 2026-04-01" in shown.out
    assert "2026-03-07 to 2026-03-08" not in shown.out
    assert "the latest 24 windows are shown; --json shows all" in " ".join(shown.err.split())
    assert len(left(run)) == 31
