"""``headcount plan``: predictions from figures alone, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headcount.lab.plan.predicted_errors import MODELS
from headcount.methods.counts import FAMILY
from tests.cli.conftest import FLAGS, WEEKDAY, Run

METHODS = FAMILY.kinds()

FIGURES = ("--users", "5000", "--items", "400", "--median", "20", "--max", "600")
OURS = set(FAMILY.methods)


def test_every_method_but_those_as_published_has_a_prediction_or_a_reason_for_none(run: Run) -> None:
    done = run("plan", *FIGURES, "--epsilon", "1", "--json")
    assert done.code == 0, done.err
    assert {row["method"] for row in done.data} == OURS
    for row in done.data:
        assert set(row) == {"method", "epsilon", "table", "limit", "mse", "mae", "known", "theorem_2"}
        predicted = getattr(METHODS[row["method"]], "foreseen", "") in MODELS
        assert (row["mse"] is not None) == predicted
        assert ("cannot be predicted" in row["known"]) != predicted


def test_text_output_shows_the_best_contribution_bound_of_every_method(run: Run) -> None:
    done = run("plan", *FIGURES, "--epsilon", "0.5,2", "--contexts", "7")
    assert done.code == 0, done.err
    for heading in ("Item counts at ε = 0.5", "Item-by-context counts at ε = 2"):
        assert heading in done.out
    assert done.out.count("\nsra ") == 4
    assert "cannot be predicted from these figures" in " ".join(done.out.split())


def test_theorem_2_is_shown_beside_our_own_advice(run: Run) -> None:
    """400 items by Zipf's law, 5,000 people: little noise, so by the theorem nearly everything should be kept."""
    arguments = ("plan", *FIGURES, "--epsilon", "0.01,1", "--contexts", "7")
    rows = [row for row in run(*arguments, "--json").data if row["method"] == "sra"]
    by_table = {(row["epsilon"], row["table"]): row["theorem_2"] for row in rows}
    assert len(by_table) == 4
    for table in ("items", "edges"):
        assert 1 <= by_table[0.01, table] < by_table[1.0, table]
    shown = " ".join(run(*arguments).out.split())
    for limit in by_table.values():
        assert f"By theorem 2 of Fan and Jin (Eq. 22) the best limit of sra is {limit}," in shown


def test_limits_are_those_given(run: Run) -> None:
    done = run("plan", *FIGURES, "--epsilon", "1", "--limits", "2,7", "--json")
    assert {row["limit"] for row in done.data if row["method"] == "sra"} == {2, 7}


def test_gaussian_noise_is_predicted_where_a_method_has_it(run: Run) -> None:
    rows = run("plan", *FIGURES, "--epsilon", "1", "--delta", "1e-6", "--count", "users", "--json").data
    plain = run("plan", *FIGURES, "--epsilon", "1", "--count", "users", "--json").data
    best = [
        {
            method: min(row["mse"] for row in output_rows if row["method"] == method)
            for method in ("sra", "dpsense")
        }
        for output_rows in (rows, plain)
    ]
    assert best[0]["sra"] < best[1]["sra"]
    assert best[0]["dpsense"] == best[1]["dpsense"]
    records = [run("plan", *FIGURES, "--epsilon", "1", *more, "--json").data for more in (("--delta", "1e-6"), ())]
    ours = [min(row["mse"] for row in output_rows if row["method"] == "adaptive") for output_rows in records]
    assert ours[0] < ours[1], "squares of records are limited, so that Gaussian noise pays"


def test_a_released_histogram_takes_the_place_of_figures(run: Run, work: Path) -> None:
    assert run("release", "visits.csv", *FLAGS, *WEEKDAY, "--epsilon", "1", "--out", "out").code == 0
    done = run("plan", "--activity", "out", "--epsilon", "1", "--json")
    assert done.code == 0, done.err
    assert {row["table"] for row in done.data} == {"items", "edges"}
    scaled = run("plan", "--activity", "out", "--users", "90000", "--epsilon", "1", "--limits", "1", "--json")
    assert scaled.code == 0, scaled.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--users", "5"), "--items is missing"),
        ((*FIGURES[:-2],), "--max is missing"),
        ((*FIGURES, "--activity", "out"), "--median and --max are of no use"),
        (("--users", "5", "--items", "4", "--median", "9", "--max", "3"), "median cannot be larger"),
        (("--users", "0", "--items", "4", "--median", "1", "--max", "3"), "users must be a whole number"),
        ((*FIGURES, "--limits", "1,x"), "limits must be a whole number"),
        ((*FIGURES, "--delta", "2"), "strictly between 0 and 1"),
        (("--activity", "nowhere"), "not a release folder"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, work: Path, flags: tuple[str, ...], message: str) -> None:
    done = run("plan", *flags, "--epsilon", "1")
    assert done.code == 2
    assert message in done.complaint


def test_a_release_without_a_histogram_is_refused(run: Run, work: Path) -> None:
    spend = ("--epsilon", "1", "--method", "sra", "--limit", "2", "--out", "plain")
    assert run("release", "visits.csv", *FLAGS, *spend).code == 0
    assert "holds no histogram" in run("plan", "--activity", "plain", "--epsilon", "1").complaint


TOP = ("plan", *FIGURES, "--count", "users", "--epsilon", "0.5", "-k", "5")


def test_a_top_is_forecast_and_the_command_to_use_is_shown(run: Run) -> None:
    done = run(*TOP)
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert "Of the 5 items that most people have, at ε = 0.5" in shown
    assert "of 5 will be right" in shown
    assert "told apart from" in shown
    assert re.search(r"At ε = 0.5, counts of items that [0-9,]+ people or more have are readable\.", shown)
    assert "headcount rank EVENTS … -k 5 --epsilon 0.5" in shown or "headcount top DIR -k 5" in shown


def test_a_top_is_forecast_with_delta(run: Run) -> None:
    shown = " ".join(run(*TOP, "--delta", "1e-6").out.split())
    assert "at ε = 0.5 and δ = 1e-6" in shown
    assert "--epsilon 0.5 --delta 1e-6" in shown


def test_a_top_is_forecast_as_json(run: Run) -> None:
    rows = run(*TOP, "--kth", "900", "--contexts", "2", "--json").data
    assert [(row["way"], row["table"]) for row in rows] == [
        (command, table) for table in ("items", "edges") for command in ("rank", "release")
    ]
    names = {"way", "epsilon", "table", "k", "right", "low", "high", "apart", "readable", "grain"}
    for row in rows:
        assert set(row) == names
        assert 0 <= row["low"] <= row["right"] <= row["high"] <= row["k"] == 5


def test_a_top_is_forecast_from_a_release_alone(run: Run, work: Path) -> None:
    """With so much ε the histogram shows all three people, but for less than one in 10^200."""
    assert run("release", "visits.csv", *FLAGS, "--epsilon", "100000", "--out", "out").code == 0
    (work / "visits.csv").unlink()
    done = run("plan", "--activity", "out", "--epsilon", "50", "-k", "1", "--json")
    assert done.code == 0, done.err
    assert len(done.data) == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--kth", "9"), "--kth is given without -k"),
        (("-k", "5", "--limits", "3"), "--limits is of no use with -k"),
        (("-k", "5", "--delta", "2"), "delta must lie strictly between 0 and 1"),
        (("-k", "0"), "k must be a whole number"),
        (("-k", "401"), "at most 400"),
    ],
)
def test_what_is_of_no_use_for_a_top_is_refused(run: Run, flags: tuple[str, ...], message: str) -> None:
    done = run("plan", *FIGURES, "--epsilon", "1", *flags)
    assert done.code == 2
    assert message in done.complaint
