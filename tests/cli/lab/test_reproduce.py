"""``headcount reproduce``: verdicts for all claims, on made-up data here and on the real data where they are."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.claims.claims import read_claims
from tests.cli.conftest import Run
from tests.lab.replicate import papers

CLAIMS = read_claims("fan-jin").claim
DATA = {
    "fan-jin": {"MovieLens": "shared", "Netflix": "stand-in"},
    "kellaris": {"Netflix": "shared", "Trajectory": "shared"},
    "dpsense": {"Kosarak": "shared", "Transaction": "shared"},
    "pncf": {"MovieLens": "shared", "Netflix": "shared"},
    "cim": {"NetTrace": "shared"},
    "pritop": {"Last.fm": "shared", "MovieLens": "shared"},
}
TINY = ("reproduce", "fan-jin", "--quick", "--runs", "2", "--processes", "1")
HOME = os.environ.get("HEADCOUNT_DATA")


@pytest.mark.parametrize(
    "paper",
    [
        pytest.param(paper_name, marks=pytest.mark.slow) if paper_name == "cim" else paper_name
        for paper_name in PAPERS
    ],
)
def test_a_tiny_run_end_to_end(run: Run, tmp_path: Path, paper: str) -> None:
    papers.shared(tmp_path)
    report, table = tmp_path / "report.html", tmp_path / "table.parquet"
    done = run(
        "reproduce",
        paper,
        *TINY[2:],
        "--data",
        tmp_path,
        "--report",
        report,
        "--table",
        table,
        "--seed",
        "7",
        "--json",
    )
    assert done.code == 0, done.err
    assert "NOT PRIVATE" in done.err
    data = done.data
    header = {name: data[name] for name in ("private", "paper", "seed", "runs", "quick")}
    assert header == {"private": False, "paper": paper, "seed": 7, "runs": 2, "quick": True}
    assert [row["id"] for row in data["claims"]] == [row.id for row in read_claims(paper).claim]
    for row in data["claims"]:
        assert row["verdict"] in ("reproduced", "not reproduced", "undecided", "not testable")
        assert row["figure"]
        assert row["claim"]
        assert row["measured"]
    for name, kind in DATA[paper].items():
        assert data["datasets"][name]["kind"] == kind
    written = pq.read_table(table)
    assert written.to_pylist() == data["table"]
    marked = json.loads(written.schema.metadata[b"headcount"])
    assert (marked["private"], marked["seed"]) == (False, 7)
    page = report.read_text(encoding="utf-8")
    assert "Not private" in page
    assert ("What each method really guarantees" in page) == (paper == "pncf")
    assert not list(tmp_path.glob("*.parts"))


def some_of(folder: Path, *names: str) -> Path:
    """Return a folder with made-up data of some names, and no others."""
    data = folder / "data"
    data.mkdir()
    papers.shared(folder)
    for name in names:
        (folder / f"{name}.parquet").rename(data / f"{name}.parquet")
    return data


def test_all_papers_in_one_go(run: Run, tmp_path: Path) -> None:
    """Those without data are shown as such, and the others are run."""
    data = some_of(tmp_path, "fimi-retail", "bms-webview-1")
    report, table = tmp_path / "all.html", tmp_path / "all.parquet"
    done = run("reproduce", "all", *TINY[2:], "--data", data, "--report", report, "--table", table, "--json")
    assert done.code == 0, done.err
    assert list(done.data["papers"]) == ["kellaris", "dpsense"]
    assert list(done.data["absent"]) == ["fan-jin", "pncf", "pritop", "cim"]
    for name, paper_result in done.data["papers"].items():
        assert [row["id"] for row in paper_result["claims"]] == [row.id for row in read_claims(name).claim]
    assert sum(done.data["verdicts"].values()) == sum(
        len(paper_data["claims"]) for paper_data in done.data["papers"].values()
    )
    written = pq.read_table(table)
    assert written.column_names[0] == "paper"
    assert written.num_rows == sum(len(paper_data["table"]) for paper_data in done.data["papers"].values())
    assert json.loads(written.schema.metadata[b"headcount"])["private"] is False
    assert "none of the data of cim is at hand" in report.read_text(encoding="utf-8")
    assert not list(tmp_path.glob("*.parts"))


def test_all_papers_print_a_summary_and_draw_their_plots(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[str] = []

    def draw(_: list[object], folder: Path, __: str) -> list[Path]:
        folders.append(f"{folder.parent.name}/{folder.name}")
        return []

    monkeypatch.setattr("headcount.lab.replicate.pages.page.write_pictures", draw)
    data = some_of(tmp_path, "bms-webview-1")
    done = run("reproduce", "all", *TINY[2:], "--data", data, "--plots", tmp_path / "plots")
    assert done.code == 0, done.err
    assert "dpsense" in done.out
    assert f"{len(read_claims('dpsense').claim)}\n" in done.out
    assert "kellaris (not run): none of the data of kellaris is at hand" in done.out
    assert folders == ["plots/dpsense"]


def test_a_report_that_cannot_be_written_costs_no_trials(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headcount.lab.replicate.pages.page.write_page", interrupted)
    data = some_of(tmp_path, "bms-webview-1")
    done = run("reproduce", "dpsense", *TINY[2:], "--data", data, "--report", tmp_path / "page.html")
    assert done.code == 130
    assert "is kept in" in done.err
    assert list((tmp_path / "page.html.parts").glob("*.parquet"))


def test_papers_are_listed_by_their_names_and_methods(run: Run) -> None:
    shown = " ".join(run("reproduce", "--help").out.split())
    for name, paper in PAPERS.items():
        title = paper.claims.paper
        assert f"{name} {title.heading}. {title.title}. {title.venue}." in shown
    for words in (
        "Fan & Jin: SRA, HPA",
        "Kellaris & Papadopoulos: GS",
        "Day & Li: DPSense",
        "Zhu: PNCF",
        "all All",
    ):
        assert words in shown
    without = run("reproduce")
    assert without.code == 2
    assert [paper_name for paper_name in (*PAPERS, "all") if paper_name not in without.complaint] == []


def test_what_is_absent_is_not_testable_and_words_are_printed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[int, str, str]] = []

    def draw(figures: list[object], folder: Path, subtitle: str) -> None:
        drawn.append((len(figures), folder.name, subtitle))

    monkeypatch.setattr("headcount.lab.replicate.pages.page.write_pictures", draw)
    papers.shared(tmp_path)
    for name in ("foursquare-nyc", "movielens-1m"):
        (tmp_path / f"{name}.parquet").unlink()
    done = run(*TINY, "--data", tmp_path, "--plots", tmp_path / "plots")
    assert done.code == 0, done.err
    assert f"{len(CLAIMS)} claims:" in done.out
    assert "Foursquare (not used)" in done.out
    assert "not testable    figure 11" in done.out
    assert drawn == [(7, "plots", "Not private: measured against the truth")]


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("reproduce", "fan-gin"), "paper 'fan-gin' is not known; did you mean 'fan-jin'?"),
        (TINY, "none of the data of fan-jin is at hand"),
        (("reproduce", "all", "--quick"), "no data of any paper are at hand"),
        ((*TINY, "--data", "nowhere"), "nowhere is not a folder"),
        ((*TINY, "--runs", "1"), "runs must be at least 2"),
        ((*TINY, "--runs", "many"), "runs must be a whole number of at least 1, not 'many'"),
        ((*TINY, "--seed", "-1"), "seed must be a whole number, not '-1'"),
        ((*TINY, "--report", "there.html"), "there.html exists already"),
        ((*TINY, "--table", "."), ". is a folder"),
        ((*TINY, "--plots", "there.html"), "there.html is a file"),
    ],
)
def test_what_the_caller_can_mend(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.delenv("HEADCOUNT_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.html").write_text("mine")
    done = run(*flags)
    assert done.code == 2
    assert complaint in done.complaint
    assert (tmp_path / "there.html").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.skipif(HOME is None, reason="HEADCOUNT_DATA names no folder")
def test_the_real_data_quickly(run: Run, tmp_path: Path) -> None:
    """What is known without chance must come out, in well under ten minutes."""
    begin = time.monotonic()
    done = run("reproduce", "fan-jin", "--quick", "--json", "--report", tmp_path / "fan-jin.html")
    assert time.monotonic() - begin < 300
    verdicts = {row["id"]: row["verdict"] for row in done.data["claims"]}
    for claim in ("t4-movielens", "t5-original", "7a-lpa-worst", "8a-lpa-worst", "10-netflix", "t5-hpa-better"):
        assert verdicts[claim] == "reproduced", claim
    assert verdicts["10-small"] == "not reproduced"  # the excerpt of Gowalla has small users left out
    assert Counter(verdicts.values())["not testable"] == 3


@pytest.mark.slow
@pytest.mark.skipif(HOME is None, reason="HEADCOUNT_DATA names no folder")
@pytest.mark.parametrize(
    ("paper", "reproduced", "failed", "untestable"),
    [
        (
            "kellaris",
            ("9-gain-over-lpa-checkin", "9-fpa-like-gs-r"),
            ("8-tuning", "9-gs-best", "9-gs-like-gs-s"),
            10,
        ),
        ("dpsense", ("1-flatter-with-more",), ("1-symmetry", "1-same-mean"), 2),
        ("pncf", ("fig-3.1-falls-item-pcc", "fig-3.3-below-gs-item-cos"), ("3.4.1-none-below",), 1),
    ],
)
def test_the_other_papers_quickly(
    run: Run, tmp_path: Path, paper: str, reproduced: tuple[str, ...], failed: tuple[str, ...], untestable: int
) -> None:
    """What hardly hangs on chance must come out as in the documentation, in well under three minutes if idle."""
    begin = time.monotonic()
    done = run("reproduce", paper, "--quick", "--json", "--report", tmp_path / f"{paper}.html")
    assert time.monotonic() - begin < 300
    verdicts = {row["id"]: row["verdict"] for row in done.data["claims"]}
    assert {claim: verdicts[claim] for claim in reproduced} == dict.fromkeys(reproduced, "reproduced")
    assert {claim: verdicts[claim] for claim in failed} == dict.fromkeys(failed, "not reproduced")
    assert Counter(verdicts.values())["not testable"] == untestable
