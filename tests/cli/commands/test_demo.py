"""The demonstration: the whole way, and a result that one would show to a colleague."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import headcount as hc
from tests.cli.conftest import Run


def test_the_demonstration_as_data(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begin = time.monotonic()
    done = run("demo", "--out", "city", "--json")
    assert done.code == 0
    assert time.monotonic() - begin < 60
    assert set(done.data) == {"release", "report", "guarantee", "top", "recommended", "true_top", "seconds"}
    assert done.data["guarantee"]["epsilon"] == "1"
    assert [row["rank"] for row in done.data["top"]] == list(range(1, 11))
    assert {row["context"] for row in done.data["recommended"]} == {"Friday"}
    assert (tmp_path / done.data["report"]).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert hc.load(done.data["release"]).top(10) == done.data["top"]
    assert {path.name for path in (tmp_path / "city").iterdir()} == {
        "visits.parquet", "venues.csv", "release", "report.html",
    }  # fmt: skip
    # Fewer than 8 in common would need an item of true rank 13 or more (its bounded count is at most about
    # 2,100) to overtake one of the true top 10 (at least about 2,870): 750 apart where a count's noise has a
    # standard deviation below 41. With Laplace tails of scale 28.6 that is e^-18 a pair at most, and only a few
    # dozen items come near: below 1e-6 in all. (The log is seeded; the noise cannot be.)
    private = {row["item"] for row in done.data["top"]}
    assert len(private & set(done.data["true_top"])) >= 8


def test_the_demonstration_matches_its_page(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for _ in range(2):  # a second time, over the first
        done = run("demo")
        assert done.code == 0
    for words in ("private top 10", "true top 10", "Central Station", "best for a Friday", "ε", "report.html"):
        assert words in done.out
    assert "1,000,000 visits" in done.err
    assert max(len(line) for line in done.out.splitlines()) <= 80
    shown = next(line for line in done.out.splitlines() if line.startswith("Further"))
    command = shown.partition("headcount ")[2].split()
    assert run(*command).code == 0


def test_the_demonstration_is_charged_to_no_ledger(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADCOUNT_LEDGER", f"sqlite:///{tmp_path}/none.db")
    done = run("demo", "--out", "city", "--json")
    assert done.code == 0, done.err
    assert not (tmp_path / "none.db").exists()  # made-up people have no budget
