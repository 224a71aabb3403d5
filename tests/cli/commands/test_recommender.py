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


def test_related_items_of_co_counts(run: Run, work: Path) -> None:
    fit = ("neighbours", "fit", "visits.csv", *FIT, "--method", "co-counts", "--epsilon", "4", "--out", "m")
    assert run(*fit).code == 0
    done = run("neighbours", "related", "m", "Café Ω", "-k", "1", "--json")
    assert done.code == 0
    assert [row["rank"] for row in done.data] == [1]
    assert run("explain", "m").code == 0


def test_visits_are_learnt_from_where_there_are_no_ratings(run: Run, work: Path) -> None:
    (work / "mine.csv").write_text("item\nrye\n", encoding="utf-8")
    fit = ("neighbours", "fit", "visits.csv", *FIT, "--epsilon", "4", "--delta", "1e-6")
    planned = run(*fit, "--context", "sex", "--contexts", "F,M", "--dry-run", "--json")
    assert planned.code == 0, planned.err
    assert set(planned.data["noise"]) == {"people", "model/items", "model/edges", "model/factors"}
    done = run(*fit, "--out", "m")
    assert done.code == 0, done.err
    assert "neighbours recommend m --user-items mine.csv" in done.err
    rows = run("neighbours", "recommend", "m", "--user-items", "mine.csv", "--json").data
    assert {row["item"] for row in rows} == {"tea", "oat"}
    shown = run("neighbours", "recommend", "m", "--user-items", "mine.csv")
    assert "for their eyes alone" in " ".join(shown.out.split())
    assert "--user-items" in run("neighbours", "recommend", "m").complaint
    assert "--user-items" in run("neighbours", "recommend", "m", "--user-ratings", "mine.csv").complaint
    assert "knows no contexts" in run(
        "neighbours", "recommend", "m", "--user-items", "mine.csv", "--context", "Friday"
    ).complaint  # fmt: skip


def test_a_model_of_ratings_goes_by_ratings(run: Run, model: str) -> None:
    assert "--user-ratings" in run("neighbours", "recommend", model, "--user-items", "mine.csv").complaint
    assert "--user-ratings" in run("neighbours", "recommend", model).complaint
    both = ("--user-ratings", "mine.csv", "--user-items", "mine.csv")
    assert "both given" in run("neighbours", "recommend", model, *both).complaint


def test_a_rating_outside_the_range_is_an_error(run: Run, work: Path, model: str) -> None:
    (work / "mine.csv").write_text("item,rating\nrye,9\n", encoding="utf-8")
    assert "between 1 and 5" in run("neighbours", "recommend", model, "--user-ratings", "mine.csv").complaint


PNCF = ("neighbours", "fit", "visits.csv", *FIT, *VALUE, "--epsilon", "1", "--method", "pncf-published")
PREDICTIONS = (*PNCF[:-1], "pncf-predictions-published")


def test_a_model_of_pncf_predicts_and_recommends(run: Run, work: Path) -> None:
    assert "use private, or add --research" in run(*PNCF, "--out", "m").complaint
    done = run(*PNCF, "--research", "--option", "k=2", "--option", "metric=cos", "--out", "m")
    assert done.code == 0, done.err
    assert "neighbours recommend m" in done.err
    (work / "mine.csv").write_text("item,rating\ntea,5\n", encoding="utf-8")
    shown = run("neighbours", "predict", "m", "--user-ratings", "mine.csv")
    assert shown.code == 0, shown.err
    assert "NOT PRIVATE" in shown.out
    assert "[bold]Oat[/x]" in shown.out
    rows = run("neighbours", "recommend", "m", "--user-ratings", "mine.csv", "--json").data
    assert [row["rating"] for row in rows] == pytest.approx([5, 5])  # one rating is all that anybody can say
    assert "no ratings are given" in run("neighbours", "predict", "m").complaint
    assert "no predictions for named people" in run("neighbours", "predict", "m", "--user", "ann").complaint


@pytest.mark.parametrize("by", ["item", "user"])
@pytest.mark.parametrize("metric", ["cos", "pcc"])
def test_pncf_predicts_for_named_users_of_the_log(run: Run, work: Path, by: str, metric: str) -> None:
    (work / "asked.csv").write_text("user,item\ncyn,tea\nbob,Café Ω\nbob,rye\n", encoding="utf-8")
    how = ("--option", f"by={by}", "--option", f"metric={metric}", "--asked", "asked.csv")
    assert "add --research" in run(*PREDICTIONS, *how, "--out", "m").complaint
    planned = run(*PREDICTIONS, *how, "--research", "--dry-run")
    assert "3 predictions" in planned.out
    done = run(*PREDICTIONS, *how, "--research", "--out", "m")
    assert done.code == 0, done.err
    assert "3 predictions: m" in done.out
    assert "neighbours predict m" in done.err
    rows = run("neighbours", "predict", "m", "--json").data
    assert [(row["user"], row["item"]) for row in rows] == [("cyn", "tea"), ("bob", "tea"), ("bob", "rye")]
    assert all(1 <= row["rating"] <= 5 for row in rows)
    shown = run("neighbours", "predict", "m", "--user", "bob", "--items", "rye")
    assert "NOT PRIVATE" in shown.out
    assert "cyn" not in shown.out
    (work / "mine.csv").write_text("item,rating\ntea,5\n", encoding="utf-8")
    for more, words in (
        (("--user", "bo"), "did you mean 'bob'"),
        (("--user-ratings", "mine.csv"), "cannot predict for others"),
        (("--user", "bob", "--user-ratings", "mine.csv"), "--user names somebody"),
    ):
        assert words in run("neighbours", "predict", "m", *more).complaint


def test_pncf_says_what_it_cannot_predict(run: Run, work: Path) -> None:
    assert "--asked FILE" in run(*PREDICTIONS, "--research", "--option", "by=user", "--out", "m").complaint
    assert (
        "asked.csv cannot be read"
        in run(*PREDICTIONS, "--research", "--asked", "asked.csv", "--out", "m").complaint
    )
    (work / "asked.csv").write_text("user,item\ncyn,teaa\n", encoding="utf-8")
    assert "did you mean 'tea'" in run(*PREDICTIONS, "--research", "--asked", "asked.csv", "--out", "m").complaint
    assert not (work / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*FIT, "--epsilon", "1", "--out", "m", "--method", "private"), "--value rating"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--method", "privat"), "did you mean 'private'"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--option", "relation=true"), "did you mean relations"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--option", "relations=maybe"), "true or false"),
        ((*FIT, *VALUE, "--epsilon", "1", "--out", "m", "--context", "sex", "--contexts", "F,M"), "--context"),
        ((*FIT, *VALUE, "--epsilon", "1"), "--out"),
    ],
)
def test_invalid_requests_are_refused_in_one_sentence(
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
