"""`top`, `recommend`, `explain`, `report`, `export` and `methods`: shapes for programs, words for people."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.cli.commands.demo import _footnote
from headcount.releases.release import Interval
from tests.cli.conftest import FLAGS, RELEASE, WEEKDAY, Run


def test_top_as_json_has_the_agreed_shape(run: Run, release_folder: Path) -> None:
    rows = run("top", release_folder, "--json").data
    assert [list(row) for row in rows] == [["rank", "item", "label", "count", "low", "high"]] * 3
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert sorted((row["count"] for row in rows), reverse=True) == [row["count"] for row in rows]
    assert all(row["low"] < row["count"] < row["high"] for row in rows)
    assert rows == hc.load(release_folder).top(10)
    assert run("top", release_folder, "--format", "json").data == rows
    assert run("top", release_folder, "-k", "1", "--json").data == rows[:1]


def test_top_in_a_context_names_it(run: Run, release_folder: Path) -> None:
    rows = run("top", release_folder, "--context", "friday", "--json").data
    assert {row["context"] for row in rows} == {"Friday"}
    assert {row["label"] for row in rows} == {"Café Ω", "=1+1", "[bold]Oat[/x]"}
    assert run("recommend", release_folder, "--context", "Friday", "--json").data == rows


def test_top_as_csv_is_csv(run: Run, release_folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("top", release_folder, "--format", "csv").out)))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert {row["label"] for row in rows} == {"Café Ω", "=1+1", "[bold]Oat[/x]"}


def test_top_as_a_table_shows_names_letter_by_letter(run: Run, release_folder: Path) -> None:
    text = run("top", release_folder).out
    assert "[bold]Oat[/x]" in text
    assert "of at most 2 records per person" in text
    assert "95 % intervals" in text
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "Best for Friday" in run("top", release_folder, "--context", "FRIDAY").out


def test_a_name_cannot_steer_the_terminal(run: Run, work: Path) -> None:
    (work / "venues.csv").write_text("venue,name\ntea,\x1b[2J\x07boo\nrye,:smile:\n", encoding="utf-8")
    assert run(*RELEASE, "--out", "out").code == 0
    text = run("top", "out").out
    assert "\x1b" not in text
    assert "\x07" not in text
    assert ":smile:" in text


def test_labels_are_left_out_where_there_are_none(run: Run, work: Path) -> None:
    assert run(*RELEASE, "--items", "tea,rye", "--out", "out").code == 0
    assert "label" not in run("top", "out").out
    assert run("top", "out", "--json").data[0]["label"] is None


def test_explain_is_the_release_and_its_sentences(run: Run, release_folder: Path) -> None:
    data = run("explain", release_folder, "--json").data
    loaded = hc.load(release_folder)
    assert data == {**loaded.to_json(), "sentences": list(loaded.sentences())}
    output = run("explain", release_folder).out
    assert output.startswith("  1. ")
    assert " ".join(loaded.guarantee.sentence().split()) in " ".join(output.split())
    assert max(len(line) for line in output.splitlines()) <= 100


def test_a_report_is_written_once(run: Run, release_folder: Path, work: Path) -> None:
    assert run("report", release_folder, "--to", "page.html", "--json").data == {"report": "page.html"}
    first = (work / "page.html").read_text(encoding="utf-8")
    assert "Café Ω" in first
    assert run("report", release_folder, "--to", "page.html").code == 2
    assert run("report", release_folder, "--to", "page.html", "--force").code == 0
    assert [path.name for path in work.iterdir() if path.name.startswith(".")] == []


def test_exports_name_their_files(run: Run, release_folder: Path, work: Path) -> None:
    files = run("export", release_folder, "--to", "sheets", "--json").data["files"]
    assert [Path(name).name for name in files] == ["items.csv", "edges.csv", "about.txt"]
    assert run("export", release_folder, "--to", "sheets", "--format", "xlsx").out.strip() == str(
        Path("sheets/release.xlsx")
    )
    refused = run("export", release_folder, "--to", "sheets")
    assert refused.code == 2
    assert "--force" in refused.complaint
    assert run("export", release_folder, "--to", "sheets", "--force").code == 0


def test_methods_as_json_have_the_agreed_shape(run: Run) -> None:
    methods = run("methods", "--json").data
    keys = ["name", "family", "standing", "unit", "parameters", "reference", "reason"]
    assert [list(method_row) for method_row in methods] == [keys] * len(methods)
    assert {method_row["name"] for method_row in methods} >= {
        "lpa",
        "sra",
        "hpa",
        "lpa-published",
        "hpa-published",
    }
    for method_row in methods:
        assert method_row["unit"] == "add-or-remove-user"
        assert method_row["reference"]
        claimed = method_row["name"].endswith("-published") and not method_row["name"].startswith(
            "dpsense"
        )  # true as printed
        assert method_row["standing"] == ("claimed" if claimed else "proven")
        assert bool(method_row["reason"]) is claimed


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_methods_fit_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run("methods").out
    assert max(len(line) for line in text.splitlines()) <= columns
    assert "claimed, not established" in text
    assert "--option d=…" in text


# Estimated counts: intervals that are lopsided, and hold on average


@pytest.fixture
def estimated(run: Run, work: Path) -> Path:
    flags = ("--method", "adaptive", "--out", "estimated", "--quiet")
    done = run("release", "visits.csv", *FLAGS, *WEEKDAY, "--epsilon", "1", *flags)
    assert done.code == 0
    closing = " ".join(done.out.split())
    assert "item-by-context counts, of everything each person did, and a histogram of how active" in closing
    return work / "estimated"


def test_top_says_what_intervals_of_estimates_mean(run: Run, estimated: Path) -> None:
    text = " ".join(run("top", estimated).out.split())
    assert "Counts of records, with 95 % intervals, which hold on average over all rows." in text
    assert "on average" in " ".join(run("explain", estimated).out.split())


def test_top_rounds_intervals_outward(run: Run, release_folder: Path) -> None:
    release = hc.load(release_folder)
    counts = {"count": [12.37, 0.4, 0.2], "low": [3.9, 0.0, -0.4], "high": [95.01, 7.5, 1.0]}
    items = pa.table({"item": release.items["item"], "label": release.items["label"], **counts})
    replace(release, tables={"items": items}, counts="users", interval=Interval(covers="true", average=True)).save(
        release_folder, force=True
    )
    text = run("top", release_folder).out
    assert [line.split()[-3:] for line in text.splitlines()[1:4]] == [
        ["12", "3", "96"],
        ["0", "0", "8"],
        ["0", "−1", "1"],
    ]
    assert "Counts of people, with 95 % intervals, which hold on average" in text


def test_estimates_are_reported_and_exported_with_activity(run: Run, estimated: Path, work: Path) -> None:
    assert run("report", estimated, "--to", "page.html").code == 0
    page = (work / "page.html").read_text(encoding="utf-8")
    assert "How active people are" in page
    assert "on average over all rows" in page
    files = run("export", estimated, "--to", "sheets", "--json").data["files"]
    assert [Path(name).name for name in files] == ["items.csv", "edges.csv", "activity.csv", "about.txt"]


def test_the_demonstration_tells_lopsided_intervals_apart() -> None:
    first = {"count": 12.37, "low": 3.9, "high": 95.01}
    estimated: Any = SimpleNamespace(bounded="everything each person did", interval=Interval(average=True))
    footnote = _footnote(estimated, first)
    assert footnote.startswith(
        "* of everything each person did; 95 % of all intervals hold, on average over all rows"
    )
    assert "from 3 to 96" in footnote
    assert "±" not in footnote
    sampled: Any = SimpleNamespace(bounded="at most 10 records per person", interval=Interval())
    footnote = _footnote(sampled, first)
    assert footnote == "* of at most 10 records per person; within ±83 with probability 95 %"
