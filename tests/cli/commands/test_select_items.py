"""``--select-items``: no public catalogue, end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from tests.cli.commands.test_release import everything_in
from tests.cli.conftest import Run

WHO = ("big.csv", "--user", "user", "--item", "item")
SELECT = (*WHO, "--select-items", "--delta", "1e-14", "--select-limit", "2")
CONTEXT = ("--context", "part", "--contexts", "AM,PM")
SPEND = ("--epsilon", "5", "--method", "sra", "--limit", "2")


@pytest.fixture
def big(work: Path) -> Path:
    """300 people have tea and rye, and each an item of their own; δ is so small that none of these is selected."""
    lines = [f"u{n},{item},{'AM' if n % 2 else 'PM'}" for n in range(300) for item in ("tea", "rye", f"secret{n}")]
    (work / "big.csv").write_text("\n".join(["user,item,part", *lines]) + "\n", encoding="utf-8")
    return work


def test_a_release_without_a_catalogue(run: Run, big: Path) -> None:
    done = run("release", *SELECT, *CONTEXT, *SPEND, "--out", "out")
    assert done.code == 0
    assert done.out.startswith("2 item counts and 6 item-by-context counts")
    assert "δ = 1e-14" in done.out
    assert "300 records of items not selected were dropped" in done.err
    assert "check --items" not in done.err
    assert "ε = 5, δ = 1e-14 were spent" in done.err
    release = hc.load("out")
    assert release.items["item"].to_pylist() == ["rye", "tea"]
    assert "secret" not in everything_in(big / "out")
    assert "300" not in (big / "out" / "release.json").read_text(encoding="utf-8")
    explanation = run("explain", "out").out
    assert "There was no public catalogue" in explanation
    assert "2 items" in " ".join(explanation.split())
    assert run("top", "out").code == 0
    assert run("top", "out", "--context", "AM").code == 0
    assert run("report", "out", "--to", "out.html").code == 0
    assert run("export", "out", "--to", "sheets", "--format", "csv").code == 0


def test_json_and_asking_again(run: Run, big: Path) -> None:
    done = run("release", *SELECT, *SPEND, "--shares", "selection=0.4,items=0.6", "--out", "a", "--json")
    assert float(done.data["guarantee"]["delta"]) == 1e-14
    again = run("release", "big.csv", "--config", "a", "--out", "b")
    assert again.code == 0, again.err
    assert hc.load("a").request == hc.load("b").request
    request = hc.load("a").request
    assert request["events"]["select_items"] is True
    assert request["release"]["delta"] == "1e-14"
    assert request["release"]["select_limit"] == 2
    assert request["release"]["shares"] == {"selection": "0.4", "items": "0.6"}


def test_the_command_line_wins_over_the_file(run: Run, big: Path) -> None:
    (big / "listed.toml").write_text('[events]\nitems = "tea,oat"\n', encoding="utf-8")
    (big / "selected.toml").write_text(
        "[events]\nselect_items = true\n[release]\ndelta = 1e-14\nselect_limit = 2\n", encoding="utf-8"
    )
    assert run("release", *SELECT, *SPEND, "--config", "listed.toml", "--out", "a").code == 0
    assert hc.load("a").items["item"].to_pylist() == ["rye", "tea"]
    assert run("release", *WHO, *SPEND, "--config", "selected.toml", "--out", "b").code == 0
    assert hc.load("b").items["item"].to_pylist() == ["rye", "tea"]
    done = run("release", *WHO, "--items", "tea", *SPEND, "--config", "selected.toml", "--out", "c")
    assert done.code == 2  # the file's delta is of no use to a public catalogue
    assert "--delta needs --noise gaussian or --select-items" in done.complaint


def test_a_ranking_without_a_catalogue(run: Run, big: Path) -> None:
    done = run("rank", *SELECT, "--epsilon", "5", "-k", "7", "--json")
    assert done.code == 0
    assert sorted(row["item"] for row in done.data["ranking"]) == ["rye", "tea"]
    shared = ("--shares", "selection=0.2,ranking=0.3,counts=0.5", "--with-counts", "--out", "best")
    done = run("rank", *SELECT, *CONTEXT, "--epsilon", "5", "-k", "1", "--per-context", *shared)
    assert done.code == 0, done.err
    assert "Best for AM" in done.out
    assert "paid with 0.625 of it" in " ".join(run("explain", "best").out.split())


def test_no_item_is_selected(run: Run, big: Path) -> None:
    done = run(
        "release", *SELECT, *CONTEXT, "--epsilon", "0.01", "--method", "hpa", "--limit", "2", "--out", "out"
    )
    assert done.code == 0
    assert done.out.startswith("No item was selected, so the release is empty: out")
    assert "ε = 0.002, δ = 1e-14 were spent" in done.err  # a fifth: nothing but selection
    assert "headcount top" not in done.err
    assert hc.load("out").items.num_rows == 0
    assert "the tables are empty" in run("explain", "out").out
    assert "No item was selected" in run("top", "out").out
    assert run("top", "out", "--json").data == []
    assert run("top", "out", "--format", "csv").out == "rank,item,label,count,low,high\n"
    assert (
        run("top", "out", "--context", "AM", "--format", "csv").out == "rank,item,label,count,low,high,context\n"
    )
    assert run("report", "out", "--to", "out.html").code == 0
    for kind in ("csv", "xlsx"):
        assert run("export", "out", "--to", f"sheets-{kind}", "--format", kind).code == 0
    for flags in ((), ("--per-context",), ("--per-context", "--with-counts")):
        arguments = (*SELECT, *CONTEXT, *flags) if flags else SELECT
        ranked = run("rank", *arguments, "--epsilon", "0.01", "-k", "3", "--out", "best", "--force")
        assert ranked.code == 0, ranked.err
        assert ranked.out.startswith("No item was selected")
        assert run("report", "best", "--to", "best.html", "--force").code == 0
        context = ("--context", "AM") if flags else ()
        assert "No item was selected" in run("top", "best", *context).out
        assert run("top", "best", *context, "--format", "csv").out.startswith("rank,item,label")


def test_a_dry_run_shows_cost_and_threshold(run: Run, big: Path) -> None:
    done = run("release", *SELECT, *CONTEXT, *SPEND, "--dry-run")
    assert done.code == 0
    output = " ".join(done.out.split())
    assert "Price ε = 5, δ = 1e-14" in output
    assert "Items selected with ε = 1 and δ = 1e-14 of it: those that 66 people or more have" in output
    assert "Cells not known before the items are selected" in output
    assert "each item count: standard deviation" in output
    data = run("release", *SELECT, *CONTEXT, *SPEND, "--dry-run", "--json").data
    assert data["cells"] == {"items": None, "edges": None}
    assert data["selection"] == {"limit": 2, "threshold": 66, "epsilon": "1", "delta": "1E-14"}
    ranked = run("rank", *SELECT, "--epsilon", "5", "-k", "3", "--dry-run")
    assert ranked.code == 0
    assert "66 people" in " ".join(ranked.out.split())


BAD = {
    "neither": ((*WHO, *SPEND), ("--items FILE", "--select-items", "--delta 1e-6")),
    "both": ((*SELECT, *SPEND, "--items", "tea"), ("both", "leave one out")),
    "no delta": ((*WHO, "--select-items", *SPEND), ("needs --delta", "one person alone")),
    "a bad delta": ((*WHO, "--select-items", "--delta", "2", *SPEND), ("delta", "between 0 and 1")),
    "delta without selection": ((*WHO, "--items", "tea", "--delta", "1e-6", *SPEND), ("--delta", "leave it out")),
    "limit without selection": ((*WHO, "--items", "tea", "--select-limit", "3", *SPEND), ("--select-limit",)),
    "a bad limit": ((*WHO, "--select-items", "--delta", "1e-6", "--select-limit", "0", *SPEND), ("select-limit",)),
    "shares without selection": ((*SELECT, *SPEND, "--shares", "items=1"), ("selection=0.2",)),
    "shares beyond 1": ((*SELECT, *SPEND, "--shares", "selection=0.5,items=1"), ("sum to 1",)),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_selections_are_refused_in_one_sentence(run: Run, big: Path, name: str) -> None:
    arguments, words = BAD[name]
    for extra in (("--out", "out"), ("--dry-run",)):
        done = run("release", *arguments, *extra)
        assert done.code == 2
        for word in words:
            assert word in done.complaint
    assert not (big / "out").exists()


def test_a_store_has_a_catalogue(run: Run, big: Path) -> None:
    done = run("pack", *WHO, "--select-items", "--to", "store")
    assert done.code == 2
    assert "a store is packed with a public catalogue" in done.complaint
    assert run("pack", *WHO, "--items", "tea,rye", "--to", "store", "--quiet").code == 0
    done = run("release", "store", "--select-items", "--delta", "1e-6", *SPEND, "--out", "out")
    assert done.code == 2
    assert "packed with a public catalogue" in done.complaint
