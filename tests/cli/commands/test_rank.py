"""`headcount rank`: what it prints, what it keeps, what it refuses, and what the other commands make of it.

Nothing here depends on which items win, but where ε is so large that there is no noise to speak of.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import headcount as hc
from tests.cli.conftest import FLAGS, RELEASE, WEEKDAY, Run
from tests.support.small_logs import scale_of

RANK = ("rank", "visits.csv", *FLAGS, "--epsilon", "1")
EXACT = ("rank", "visits.csv", *FLAGS, "--epsilon", "100000")
SEX = ("--context", "sex", "--contexts", "F,M")
PROMISE = {"unit", "standing", "epsilon", "delta", "assumes", "reason"}


def request_in(folder: Path) -> Any:
    return json.loads((folder / "release.json").read_text(encoding="utf-8"))["request"]


@pytest.fixture
def ranked(run: Run, work: Path) -> Path:
    """A ranking without counts."""
    assert run(*RANK, "-k", "2", "--out", "ranked", "--quiet").code == 0
    return work / "ranked"


@pytest.fixture
def by_sex(run: Run, work: Path) -> Path:
    """A ranking with counts for each of two contexts."""
    assert run(*RANK, "-k", "2", *SEX, "--per-context", "--with-counts", "--out", "by-sex", "--quiet").code == 0
    return work / "by-sex"


# What it prints


def test_the_best_items_are_printed(run: Run, work: Path) -> None:
    with (work / "visits.csv").open("a", encoding="utf-8") as file:
        file.writelines(
            f"u{n},{venue},,X,25+,1\n" for venue, people in (("rye", 9), ("tea", 5)) for n in range(people)
        )
    done = run(*EXACT, "-k", "3")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [["1", "rye"], ["2", "tea"], ["3", "oat"]]
    assert "without counts. ε = 100000, privacy: proven, per person." in done.out
    assert "count" not in lines[0]
    assert "not charged to any ledger" in done.err
    assert {path.name for path in work.iterdir()} == {"visits.csv", "venues.csv"}  # nothing is kept


def test_json_is_one_document_of_the_agreed_shape(run: Run, work: Path) -> None:
    done = run(*RANK, "-k", "2", "--json")
    assert done.code == 0
    assert set(done.data) == {"guarantee", "ranking"}
    assert set(done.data["guarantee"]) == PROMISE
    assert (done.data["guarantee"]["standing"], done.data["guarantee"]["epsilon"]) == ("proven", "1")
    assert [list(row) for row in done.data["ranking"]] == [["rank", "item", "label"]] * 2
    assert [row["rank"] for row in done.data["ranking"]] == [1, 2]
    labels = {"tea": "Café Ω", "rye": "=1+1", "oat": "[bold]Oat[/x]"}
    assert all(labels[row["item"]] == row["label"] for row in done.data["ranking"])


@pytest.mark.parametrize("counts", [False, True])
def test_json_per_context(run: Run, work: Path, counts: bool) -> None:
    done = run(*RANK, "-k", "2", *SEX, "--per-context", *(["--with-counts"] if counts else []), "--json")
    assert [(row["rank"], row["context"]) for row in done.data["ranking"]] == [
        (1, "F"), (2, "F"), (1, "M"), (2, "M"),
    ]  # fmt: skip
    fields = ["rank", "item", "label", "context", *(["count", "low", "high"] if counts else [])]
    assert all(list(row) == fields for row in done.data["ranking"])
    if counts:
        assert all(row["low"] < row["count"] < row["high"] for row in done.data["ranking"])


def test_counts_are_of_users(run: Run, work: Path) -> None:
    done = run(*EXACT, "-k", "3", "--with-counts", "--json")
    assert {row["item"]: row["count"] for row in done.data["ranking"]} == {"tea": 2, "rye": 2, "oat": 0}
    assert done.data["ranking"][2]["item"] == "oat"
    shown = run(*EXACT, "-k", "3", "--with-counts").out
    assert "Counts of people, with 95 % intervals. ε = 100000, privacy: proven, per person." in shown


def test_every_context_has_its_table_and_the_guarantee_is_printed_once(run: Run, work: Path) -> None:
    done = run(*RANK, "-k", "1", *WEEKDAY, "--per-context")
    assert done.code == 0
    places = [done.out.index(f"Best for {day}") for day in ("Monday", "Friday", "Sunday")]
    assert places == sorted(places)
    assert done.out.count("per person") == 1


def test_the_reliability_of_the_order_is_printed(run: Run, work: Path) -> None:
    """From k, ε and the number of contexts alone: 2 · 7 / 0.5, 2 / 0.5."""
    words = "Items fewer than {} people apart are in random order."
    done = run("rank", "visits.csv", *FLAGS, "--epsilon", "0.5", "-k", "1", *WEEKDAY, "--per-context")
    assert " ".join(done.out.split()).count(words.format(14)) == 1
    done = run("rank", "visits.csv", *FLAGS, "--epsilon", "0.5", "-k", "2", "--out", "a")
    assert words.format(4) in " ".join(done.out.split())
    assert words.format(4) in " ".join(run("top", "a").out.split())


def test_a_context_without_a_ranking_per_context_is_refused(run: Run, work: Path) -> None:
    done = run(*RANK, "-k", "2", *SEX)
    assert (done.code, "--per-context" in done.err) == (2, True)
    assert run(*RANK, "-k", "2", *SEX, "--context-of", "user", "--quiet").code == 0  # that leaves records out


def test_it_says_where_the_release_is(run: Run, work: Path) -> None:
    done = run(*RANK, "-k", "1", *SEX, "--per-context", "--out", "my folder")
    assert "my folder" in done.err
    assert "headcount top 'my folder' --context F" in done.err
    assert "my folder" not in done.out
    result = run(*RANK, "-k", "1", "--out", "b", "--json")
    assert (result.data["out"], result.data["ledger"]) == ("b", None)
    assert set(result.data) == {"guarantee", "ranking", "out", "ledger", "seconds"}


# What it keeps


def test_the_folder_holds_a_ranking(ranked: Path, by_sex: Path) -> None:
    for folder, columns in (
        (ranked, ["rank", "item", "label"]),
        (by_sex, ["rank", "item", "label", "context", "count", "low", "high"]),
    ):
        assert {path.name for path in folder.iterdir()} == {"release.json", "ranking.parquet"}
        assert pq.read_table(folder / "ranking.parquet").column_names == columns
        story = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        assert (story["method"], story["tables"], story["counts"]) == ("top-k", ["ranking"], "users")
        assert (story["ledger"], story["simulated"]) == (None, False)
    assert request_in(ranked)["rank"] == {"epsilon": "1", "k": 2}
    assert request_in(by_sex)["rank"] == {"epsilon": "1", "k": 2, "per_context": True, "with_counts": True}
    assert hc.load(by_sex).contexts == ("F", "M")


@pytest.mark.parametrize(
    ("more", "shared"), [((), "sharing ε equally"), (("--context-of", "user"), "each with all of ε")]
)
def test_contexts_share_epsilon_unless_they_divide_users(
    run: Run, work: Path, more: tuple[str, ...], shared: str
) -> None:
    flags = (*RANK, "-k", "1", *SEX, *more, "--per-context", "--with-counts")
    assert run(*flags, "--out", "a", "--quiet").code == 0
    release = hc.load("a")
    assert shared in release.explain()
    assert scale_of(release.noise["ranking"]) == (2 if more else 4)  # K / (ε / 2), or of half as much
    planned = run(*flags, "--dry-run", "--json").data
    assert planned["noise"]["ranking"]["scale"] == str(scale_of(release.noise["ranking"]))


def test_top_and_recommend(run: Run, ranked: Path, by_sex: Path) -> None:
    rows = pq.read_table(ranked / "ranking.parquet").to_pylist()
    assert run("top", ranked, "--json").data == rows
    assert run("top", ranked, "-k", "1", "--json").data == rows[:1]
    assert "without counts" in run("top", ranked).out
    assert run("top", ranked, "--format", "csv").out.splitlines()[0] == "rank,item,label"
    for command in ("top", "recommend"):
        ranked_rows = run(command, by_sex, "--context", "m", "--json").data
        assert [(row["rank"], row["context"]) for row in ranked_rows] == [(1, "M"), (2, "M")]
        assert "Best for M" in run(command, by_sex, "--context", "M").out
    for wrong, words in (
        (("top", by_sex), "name one with --context, such as 'F'"),
        (("top", ranked, "--context", "F"), "not per context"),
        (("top", by_sex, "--context", "X"), "'F', 'M'"),
        (("top", ranked, "-k", "0"), "at least 1"),
    ):
        done = run(*wrong)
        assert done.code == 2
        assert words in done.complaint


def test_explain(run: Run, ranked: Path, by_sex: Path) -> None:
    explanation = run("explain", ranked).out
    assert "Every person counted once per item" in explanation
    assert "permute-and-flip" in explanation
    assert "interval" not in explanation
    assert "encloses the true count" in " ".join(run("explain", by_sex).out.split())
    assert run("explain", ranked, "--json").code == 0


# Long rankings


LONG = ("rank", "many.csv", "--user", "user", "--item", "venue", "--items", "places.csv", "--epsilon", "2")


@pytest.fixture
def many(work: Path) -> Path:
    """A log of 600 people with one to three of 40 places, or (``busy.csv``) with nearly all of them."""
    places = [f"p{n:02}" for n in range(40)]
    (work / "places.csv").write_text("item,label\n" + "".join(f"{place},Place {place}\n" for place in places))
    for name, most in (("many.csv", 3), ("busy.csv", 40)):
        rows = [
            f"u{n},{places[(n * n + 7 * place) % 40]},{'FM'[n % 2]}\n"
            for n in range(600)
            for place in range(most - n % 2)
        ]
        (work / name).write_text("user,venue,sex\n" + "".join(rows), encoding="utf-8")
    return work


@pytest.mark.parametrize("counts", [(), ("--with-counts",)], ids=["plain", "counts"])
@pytest.mark.parametrize(("log", "by"), [("many.csv", "counts"), ("busy.csv", "peeling")])
def test_a_long_ranking(run: Run, many: Path, log: str, by: str, counts: tuple[str, ...]) -> None:
    k = 30 if by == "counts" else 12  # with counts, peeling has half of ε
    done = run("rank", log, *LONG[2:], "-k", str(k), *counts, "--out", "a")
    assert done.code == 0
    assert len([line for line in done.out.splitlines() if " Place p" in line]) == k
    assert {path.name for path in (many / "a").iterdir()} == {
        "release.json",
        "ranking.parquet",
        "activity.parquet",
    }
    story = json.loads((many / "a" / "release.json").read_text(encoding="utf-8"))
    assert (story["tables"], story["chosen"]["ranking"]["by"]) == (["ranking", "activity"], by)
    assert story["noise"]["activity"]["scale"] == "25"  # 1 / (2 % of 2)
    assert request_in(many / "a")["rank"] == {"epsilon": "2", "k": k} | ({"with_counts": True} if counts else {})
    rows = run("top", "a", "-k", str(k), "--json").data
    assert [list(row) for row in rows] == [
        ["rank", "item", "label", *(["count", "low", "high"] * bool(counts))]
    ] * k
    explanation = " ".join(run("explain", "a").out.split())
    assert "paid with 2 % of ε" in explanation
    assert ("so counts were ranked" if by == "counts" else "permute-and-flip") in explanation
    assert ("on average over all rows" in " ".join(done.out.split())) is (bool(counts) and by == "counts")
    assert ("without counts" in done.out) is (not counts)
    assert run("report", "a", "--to", "a.html").code == 0
    page = Path("a.html").read_text(encoding="utf-8")
    assert f"The {k} best items" in page
    assert "How active people are" in page
    files = run("export", "a", "--to", "b", "--json").data["files"]
    assert files == ["b/ranking.csv", "b/activity.csv", "b/about.txt"]


@pytest.mark.parametrize("context_of", ["record", "user"])
def test_a_long_ranking_per_context(run: Run, many: Path, context_of: str) -> None:
    flags = (*SEX, "--context-of", context_of, "--per-context", "--with-counts")
    done = run(*LONG, "-k", "12", *flags, "--out", "a", "--json")
    assert [(row["rank"], row["context"]) for row in done.data["ranking"]] == [
        (rank, sex) for sex in "FM" for rank in range(1, 13)
    ]
    assert all(row["low"] <= row["count"] <= row["high"] for row in done.data["ranking"])
    release = hc.load("a")
    assert release.chosen["ranking"]["by"] == "counts"
    assert set(release.tables["activity"]["of"].to_pylist()) == {"items"}
    assert run("recommend", "a", "--context", "M", "-k", "2", "--json").data == release.top(2, "M")


def test_a_dry_run_of_a_long_ranking_announces_the_histogram(run: Run, many: Path) -> None:
    data = run(*LONG, "-k", "30", "--dry-run", "--json").data
    assert data["cells"] == {"ranking": 30}
    assert {name: law["scale"] for name, law in data["noise"].items()} == {"activity": "25"}
    short = run(*LONG, "-k", "10", "--dry-run", "--json").data
    assert short["noise"] == {}


# Before it is run


def test_a_dry_run_reads_keeps_and_spends_nothing(run: Run, work: Path) -> None:
    done = run(*RANK, "-k", "2", "--dry-run", "--out", "a")
    assert done.code == 0
    assert "Dry run: nothing was counted, written or charged." in done.out
    assert "2 places" in done.out
    assert "which items are chosen" in done.out
    data = run(*RANK, "-k", "2", *SEX, "--per-context", "--with-counts", "--dry-run", "--json").data
    assert set(data) == {"guarantee", "price", "cells", "noise", "ledger", "notes"}
    assert data["notes"] == ["Items fewer than 8 people apart will be in random order."]  # 2 · 2 / (1 / 2)
    assert "Items fewer than 2 people apart will be in random order." in done.out
    assert data["cells"] == {"ranking": 4}
    assert data["price"] == {"epsilon": "1", "delta": "0"}
    assert data["noise"]["ranking"]["scale"] == "8"  # 2 / (1 / 2 / 2)
    assert {path.name for path in work.iterdir()} == {"visits.csv", "venues.csv"}


def test_with_delta_the_noise_is_explained_and_the_guarantee_includes_it(run: Run, work: Path) -> None:
    data = run(*RANK, "-k", "2", "--delta", "1e-6", "--dry-run", "--json").data
    assert data["price"] == {"epsilon": "1", "delta": "0.000001"}
    assert data["notes"] == [
        "Items fewer than 4 people apart will be in random order.",  # two picks of range 0.5: ln 5 · 2
        "For so few places δ is of no use: without it, that would be 2 people.",
    ]
    done = run(*RANK, "-k", "2", "--delta", "1e-6", "--with-counts", "--out", "a")
    assert done.code == 0, done.err
    assert "ε = 1, δ = 1e-6 were spent" in done.err
    explanation = " ".join(run("explain", "a").out.split())
    assert "by the exponential mechanism with Gumbel noise of scale" in explanation
    assert "discrete Gaussian noise" in explanation


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no k": ((), "-k"),
    "zero": (("-k", "0"), "k must be a whole number of at least 1, not '0'; try -k 10"),
    "negative": (("-k", "-3"), "at least 1"),
    "a fraction": (("-k", "2.5"), "at least 1"),
    "a word": (("-k", "ten"), "at least 1"),
    "empty": (("-k", ""), "at least 1"),
    "absurd": (("-k", "9" * 20), "k must"),
    "more than there are": (
        ("-k", "4"),
        "k must be at most 3, the number of items in the catalogue, not 4; ask for fewer",
    ),
    "options": (("-k", "1", "--option", "d=2"), "there is no option --option"),
    "research": (("-k", "1", "--research"), "there is no option --research"),
    "a bad delta": (("-k", "1", "--delta", "2"), "delta must lie strictly between 0 and 1"),
    "a bad epsilon": (("-k", "1", "--epsilon", "0"), "epsilon must be a positive number"),
    "no context": (("-k", "1", "--per-context"), "needs a context; name one with --context"),
    "context of nobody": (("-k", "1", "--context-of", "user"), "without --context"),
    "a method": (("-k", "1", "--method", "sra"), "--method"),
    "a limit": (("-k", "1", "--limit", "3"), "--limit"),
}


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["run", "dry run"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_one_sentence(run: Run, work: Path, name: str, dry: tuple[str, ...]) -> None:
    flags, words = REFUSED[name]
    done = run(*RANK, *flags, *dry, "--out", "a")
    assert (done.code, done.out) == (2, "")
    assert words in done.complaint
    assert not (work / "a").exists()


# --config


def test_a_release_request_is_refused_for_a_ranking(run: Run, work: Path) -> None:
    """The events are the same; ε and k are the ranking's own."""
    assert run(*RELEASE, *SEX, "--out", "a").code == 0
    again = ("rank", "visits.csv", "--items", "venues.csv", "--config", "a")
    done = run(*again)
    assert done.code == 2
    assert "--epsilon" in done.complaint
    assert run(*again, "--epsilon", "0.5", "-k", "1", "--per-context", "--out", "b").code == 0
    assert request_in(work / "b")["events"] == request_in(work / "a")["events"]
    assert request_in(work / "b")["rank"] == {"epsilon": "0.5", "k": 1, "per_context": True}
