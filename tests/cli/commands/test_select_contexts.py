"""``--select-contexts`` and ``--select-tags``: no public lists of them, end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from tests.cli.commands.test_release import everything_in
from tests.cli.conftest import Run

WHO = ("big.csv", "--user", "user", "--item", "item")
ITEMS = ("--items", "tea,rye")
CONTEXTS = ("--context", "part", "--select-contexts", "--delta", "1e-14", "--select-limit", "2")
SPEND = ("--epsilon", "10", "--method", "sra", "--limit", "2")
TAGS = (
    "tags",
    "release",
    "big.csv",
    "--user",
    "user",
    "--resource",
    "item",
    "--resources",
    "tea,rye",
    "--tag",
    "part",
)


@pytest.fixture
def big(work: Path) -> Path:
    """300 people have tea in the morning, and rye where nobody else is; δ is so small that no such is selected."""
    lines = [f"u{n},{item},{part}" for n in range(300) for item, part in (("tea", "AM"), ("rye", f"secret{n}"))]
    (work / "big.csv").write_text("\n".join(["user,item,part", *lines]) + "\n", encoding="utf-8")
    return work


@pytest.mark.parametrize("items", [ITEMS, ("--select-items",)], ids=["listed", "selected"])
def test_a_release_without_a_list_of_contexts(run: Run, big: Path, items: tuple[str, ...]) -> None:
    done = run("release", *WHO, *items, *CONTEXTS, *SPEND, "--out", "out")
    assert done.code == 0, done.err
    assert done.out.startswith("2 item counts and 4 item-by-context counts")
    assert "300 records with a context not selected, or that cannot be read, were counted as unknown" in " ".join(
        done.err.split()
    )
    assert hc.load("out").contexts == ("AM",)
    assert "secret" not in everything_in(big / "out")
    assert "There was no public list of contexts" in run("explain", "out").out
    assert "tea" in run("top", "out", "--context", "AM").out
    assert run("report", "out", "--to", "out.html").code == 0
    assert "There was no public list of contexts" in (big / "out.html").read_text(encoding="utf-8")
    again = run("release", "big.csv", *(items if items == ITEMS else ()), "--config", "out", "--out", "again")
    assert again.code == 0, again.err
    assert hc.load("again").request == hc.load("out").request


def test_the_command_line_wins_over_the_file(run: Run, big: Path) -> None:
    (big / "listed.toml").write_text('[events]\ncontexts = ["AM", "PM"]\n', encoding="utf-8")
    assert run("release", *WHO, *ITEMS, *CONTEXTS, *SPEND, "--config", "listed.toml", "--out", "a").code == 0
    assert hc.load("a").contexts == ("AM",)
    (big / "selected.toml").write_text('[events]\nselect_contexts = true\ncontext = "part"\n', encoding="utf-8")
    listed = ("--contexts", "AM,PM", "--config", "selected.toml")
    assert run("release", *WHO, *ITEMS, *SPEND, *listed, "--out", "b").code == 0
    assert hc.load("b").contexts == ("AM", "PM")


def test_a_dry_run_prints_the_budget_of_both_selections(run: Run, big: Path) -> None:
    done = run("release", *WHO, "--select-items", *CONTEXTS, *SPEND, "--dry-run")
    output = " ".join(done.out.split())
    assert "Contexts selected with ε = 2 and δ = 5e-15 of it: those that 35 people or more have" in output
    assert "at most 2 contexts of each person count" in output
    assert "Items selected with ε = 2 and δ = 5e-15 of it" in output
    assert "Cells not known before the contexts and items are selected" in output
    data = run("release", *WHO, *ITEMS, *CONTEXTS, *SPEND, "--dry-run", "--json").data
    assert data["context-selection"] == {"limit": 2, "threshold": 34, "epsilon": "2", "delta": "1E-14"}
    assert "selection" not in data


def test_no_context_is_selected(run: Run, big: Path) -> None:
    small = ("--epsilon", "0.01", "--method", "hpa", "--limit", "2")
    done = run("release", *WHO, "--select-items", *CONTEXTS, *small, "--out", "out")
    assert done.code == 0, done.err
    assert done.out.startswith("No context was selected, so the release is empty: out")
    assert hc.load("out").contexts == ()
    assert "--shares context-selection=0.5" in " ".join(run("explain", "out").out.split())
    assert "No context was selected" in run("top", "out").out
    assert run("report", "out", "--to", "out.html").code == 0
    assert run("export", "out", "--to", "sheets", "--format", "csv").code == 0
    ranked = run("rank", *WHO, *ITEMS, *CONTEXTS, "--epsilon", "0.01", "-k", "1", "--per-context", "--out", "best")
    assert ranked.out.startswith("No context was selected")
    assert run("report", "best", "--to", "best.html").code == 0
    totals = ("--what", "totals", "--by", "contexts", "--limit", "2", "--epsilon", "0.01", "--out", "totals")
    assert run("release", *WHO, *CONTEXTS, *totals).out.startswith("No context was selected")
    assert run("report", "totals", "--to", "totals.html").code == 0


BAD = {
    "neither": (
        (*WHO, *ITEMS, "--context", "part", *SPEND),
        ("--contexts A,B,C", "--select-contexts", "--delta 1e-6"),
    ),
    "both": ((*WHO, *ITEMS, *CONTEXTS, "--contexts", "AM", *SPEND), ("both given", "leave one out")),
    "no delta": ((*WHO, *ITEMS, *CONTEXTS[:3], *SPEND), ("needs --delta", "one person alone")),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_selections_are_refused_in_one_sentence(run: Run, big: Path, name: str) -> None:
    arguments, words = BAD[name]
    done = run("release", *arguments, "--dry-run")
    assert done.code == 2
    for word in words:
        assert word in done.complaint


def test_check_takes_contexts_that_are_to_be_selected(run: Run, big: Path) -> None:
    done = run("check", *WHO, *ITEMS, "--context", "part", "--select-contexts")
    assert done.code == 0
    assert "column 'part' was not looked at: its values are selected" in done.out


def test_tags_without_a_vocabulary(run: Run, big: Path) -> None:
    done = run(
        *TAGS, "--select-tags", "--epsilon", "10", "--delta", "1e-14", "--select-limit", "2", "--out", "out"
    )
    assert done.code == 0, done.err
    assert done.out.startswith("A model of 1 tag and 2 resources")
    assert "There was no public list of tags" in run("explain", "out").out
    assert run("tags", "topics", "out").code == 0
    assert run("report", "out", "--to", "out.html").code == 0
    nothing = ("--epsilon", "0.01", "--delta", "1e-14", "--select-limit", "2", "--out", "nothing")
    done = run(*TAGS, "--select-tags", *nothing)
    assert done.out.startswith("No tag was selected, so the release is empty: nothing")
    assert "tags topics" not in done.err
    assert run("report", "nothing", "--to", "nothing.html").code == 0
    for action in (("topics", "nothing"), ("recommend", "nothing", "--resource", "tea")):
        refused = run("tags", *action)
        assert refused.code == 2, refused.out
        assert "No tag was selected" in refused.complaint
    assert run(*TAGS, "--select-tags", "--epsilon", "1", "--out", "b").code == 2
