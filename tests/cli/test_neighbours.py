"""``headcount neighbours``: fit, predict, recommend, related."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

FIT = ("--user", "user", "--item", "venue", "--items", "venues.csv:venue,name", "--drop-nulls")
VALUE = ("--value", "stars", "--value-range", "1,5")


@pytest.fixture
def model(run: Run, work: Path) -> str:
    done = run("neighbours", "fit", "visits.csv", *FIT, *VALUE, "--epsilon", "4", "--delta", "1e-6", "--out", "m")
    assert done.code == 0, done.err
    assert "A model of 3 items: m" in done.out
    assert "not charged to any ledger" in done.err
    (work / "mine.csv").write_text("item,rating\nCafé Ω,5\nrye,2\n", encoding="utf-8")
    return "m"


def test_fit_recommend_predict(run: Run, model: str) -> None:
    best = run("neighbours", "recommend", model, "--user-ratings", "mine.csv", "-k", "5")
    assert best.code == 0
    assert "[bold]Oat[/x]" in best.out
    assert "for their eyes alone" in " ".join(best.out.split())
    rows = run(
        "neighbours", "predict", model, "--user-ratings", "mine.csv", "--items", "oat,Café Ω", "--json"
    ).data
    assert [row["item"] for row in rows] == ["oat", "tea"]
    assert all(1 <= row["rating"] <= 5 for row in rows)


def test_fit_prints_json(run: Run, work: Path) -> None:
    done = run("neighbours", "fit", "visits.csv", *FIT, *VALUE, "--epsilon", "1", "--out", "m", "--json", "-q")
    assert done.code == 0
    assert done.data["method"] == "private"
    assert done.data["guarantee"]["delta"] == "0"
    assert done.data["ledger"] is None


def test_related_items_of_co_counts(run: Run, work: Path) -> None:
    fit = ("neighbours", "fit", "visits.csv", *FIT, "--method", "co-counts", "--epsilon", "4", "--out", "m")
    assert run(*fit).code == 0
    done = run("neighbours", "related", "m", "Café Ω", "-k", "1", "--json")
    assert done.code == 0
    assert [row["rank"] for row in done.data] == [1]
    assert run("explain", "m").code == 0


def test_a_dry_run_reads_nothing(run: Run, work: Path) -> None:
    done = run("neighbours", "fit", "visits.csv", *FIT, *VALUE, "--epsilon", "4", "--dry-run")
    assert done.code == 0
    assert "Dry run" in done.out
    assert "3 items" in done.out
    assert not (work / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*FIT, "--epsilon", "1", "--out", "m"), "--value rating"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--method", "privat"), "did you mean 'private'"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--option", "relation=true"), "did you mean relations"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--option", "relations=maybe"), "true or false"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--context", "sex", "--contexts", "F,M"), "--context"),
        ((*FIT, *VALUE, "--epsilon", "1"), "--out"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    run: Run, work: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = run("neighbours", "fit", "visits.csv", *arguments)
    assert done.code == 2
    assert words in done.complaint
    assert not (work / "m").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "header"),
        ("item,rating\ntea\n", "two columns"),
        ("item,rating\ntea,good\n", "must be a number"),
        ("item,rating\ntea,1\ntea,2\n", "twice"),
        ("item,rating\ncoffee,1\n", "coffee"),
    ],
)
def test_own_ratings_that_are_wrong(run: Run, work: Path, model: str, text: str, words: str) -> None:
    (work / "mine.csv").write_text(text, encoding="utf-8")
    done = run("neighbours", "recommend", model, "--user-ratings", "mine.csv")
    assert done.code == 2
    assert words in done.complaint


def test_what_is_no_model_or_no_subcommand(run: Run, work: Path, model: str) -> None:
    assert "did you mean 'fit'" in run("neighbours", "fitt").complaint
    assert (
        "mine2.csv cannot be read"
        in run("neighbours", "recommend", model, "--user-ratings", "mine2.csv").complaint
    )
    done = run("release", "visits.csv", *FIT, "--epsilon", "1", "--out", "counts")
    assert done.code == 0
    assert "no model" in run("neighbours", "related", "counts", "tea").complaint
    assert "headcount neighbours" in run("top", model).complaint
