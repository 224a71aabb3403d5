"""The files of claims are complete and sound, and no claim goes without a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest

from headcount.errors import DataError
from headcount.events.log import EventLog
from headcount.lab.datasets.by_name import Dataset, Kind
from headcount.lab.datasets.entries import ENTRIES
from headcount.lab.datasets.parsed import Sizes
from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.claims.claims import parse_claims, read_claims
from headcount.lab.replicate.claims.verdicts import WORDS, IncompleteError, Verdict, check_complete, judge_all
from headcount.lab.replicate.results import Results, Row, table_of

FILES = tuple(PAPERS)
NOBODY_HAS = ("aol", "bibsonomy-2009", "delicious-dai", "kdd-cup-1999", "search-logs", "social-network")
FIGURES = {
    "fan-jin": ["5", "6", "7(a)", "7(b)", "7(c)", "8(a)", "8(b)", "8(c)", "9", "10", "11", "table 5"],
    "kellaris": ["7", "8", "9", "10"],
    "dpsense": ["figure 1", "section 5.3", "section 5.4"],
    "pncf": [f"{kind} 3.{n}" for kind, many in (("table", 3), ("figure", 6)) for n in range(1, many + 1)],
    "pritop": [*(f"figure 4.{n}" for n in range(1, 6)), "table 4.3"],
    "cim": [*(f"figure 5.{n}" for n in range(1, 6)), "table 5.2"],
}
TINY = """
[paper]
name = "tiny"
authors = "A. Author"
title = "Films"
venue = "Nowhere 2026"
methods = ["A"]

[run]
about = "Counting films."
setup = []

[[dataset]]
paper = "Films"
name = "movielens-1m"
same = true
note = "the data of the paper"

[[dataset]]
paper = "Places"
name = "foursquare-nyc"
same = false
lacks = ["edges"]
note = "another crawl"

[[section]]
name = "only"
title = "Figure 1"
reports = "Something."
figures = ["figure 1"]

[[section.picture]]
kind = "curves"
experiment = "trial"
value = "error"
each = [
    { name = "mse-{dataset}", title = "MSE, {dataset}", metric = "MSE" },
    { name = "mae-{dataset}", title = "MAE, {dataset}", metric = "MAE", datasets = ["Films"] },
]

[[section.picture]]
name = "both"
title = "All data"
kind = "dots"
experiment = "trial"
metric = "MSE"
table = "edges"
value = "errors"

[[claim]]
id = "first"
figure = "figure 1"
place = "section 1"
says = "a is below b"
cases = [{ dataset = "Films", table = "items" }, { dataset = "Places", table = "items" }]
judge = { rule = "below", experiment = "trial", metric = "MSE", methods = ["a"], than = ["b"] }
"""
SECOND = TINY[TINY.index("[[claim]]") :].replace('"first"', '"second"').replace("below", "above")
LOW, HIGH = [1.0, 1.1, 0.9], [3.0, 3.1, 2.9]


def judged(text: str, films: tuple[Any, Any], places: tuple[Any, Any], **how: Any) -> list[Verdict]:
    rows = [
        Row("trial", data, method, "items", 1.0, None, "MSE", None, run, value)
        for data, both in (("Films", films), ("Places", places))
        for method, values in zip("ab", both, strict=True)
        for run, value in enumerate(values)
    ]
    usual: dict[str, Any] = {"absent": {}, "stand_ins": []}
    return judge_all(parse_claims(text, "tiny.toml"), Results(table_of(rows)), **{**usual, **how})


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_and_say_where_a_claim_stands(name: str) -> None:
    claims = read_claims(name)
    assert claims.paper.name == name
    assert all(claim.says and claim.place and claim.figure for claim in claims.claim)
    assert all(len(claim.says) < 200 for claim in claims.claim)
    assert {dataset.name for dataset in claims.dataset} <= {*ENTRIES, "all", *NOBODY_HAS}


@pytest.mark.parametrize("name", FILES)
def test_every_section_has_a_claim(name: str) -> None:
    claims = read_claims(name)
    assert [part.name for part in claims.section if part.figures and not any(map(part.covers, claims.claim))] == []


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_is_passed_over(name: str) -> None:
    named = " ".join(claim.figure for claim in read_claims(name).claim)
    assert [figure for figure in FIGURES[name] if figure not in named] == []


@pytest.mark.parametrize("name", FILES)
def test_our_own_thresholds_are_marked_as_ours(name: str) -> None:
    """Where the paper gives no number, the claim says by which one it is judged."""
    for claim in read_claims(name).claim:
        value = getattr(claim.judge, "value", None)
        if value not in (None, 0, 1) and claim.judge.rule in ("at least", "at most"):
            assert re.search(r"\d|half|judged", claim.says), claim.id


def test_the_paper_names_the_file() -> None:
    files = {path.name for path in resources.files("headcount.lab.replicate.claims").iterdir()}
    assert {f"{name.replace('-', '_')}.toml" for name in FILES} == {
        path for path in files if path.endswith(".toml")
    }


def changed(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (changed("[paper]", "[paper"), "tiny.toml is not TOML"),
        (changed('says = "a is below b"', ""), r"tiny\.toml: claim\.0\.says: Field required"),
        (changed('rule = "below"', 'rule = "nearly"'), r"tiny\.toml: claim\.0\.judge"),
        (changed('than = ["b"]', 'then = ["b"]'), r"tiny\.toml: claim\.0\.judge"),
        (changed('dataset = "Places"', 'dataset = "Planets"'), "is about 'Planets', which is no data set"),
        (changed('figures = ["figure 1"]', 'figures = ["figure 2"]'), "stands in 0 sections"),
        (lambda text: text + text[text.index("[[claim]]") :], "two claims 'first'"),
        (lambda text: re.sub(r"cases = .*", "cases = []", text), "names no cases"),
        (changed('value = "error"', ""), r"tiny\.toml: section\.0\.picture\.0\.0\.value: Field required"),
        (changed('kind = "dots"', 'kind = "bars"'), r"tiny\.toml: section\.0\.picture\.1\.0\.kind"),
        (changed('datasets = ["Films"]', 'dataset = "Films"'), r"picture\.0\.1\.dataset: Extra inputs"),
        (changed('datasets = ["Films"]', 'datasets = ["Moons"]'), "is of 'Moons', which is no data set"),
        (changed('title = "All data"', 'title = "All {data}"'), "only {dataset} can stand in braces"),
        (changed('"mse-{dataset}"', '"mse"'), "has two pictures 'mse'"),
        (changed('name = "both"', 'name = "mae-films"'), "has two pictures 'mae-films'"),
    ],
)
def test_bad_files_are_refused(change: Callable[[str], str], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        parse_claims(change(TINY), "tiny.toml")


def test_pictures_are_drawn_for_the_data_there_are() -> None:
    [section] = parse_claims(TINY, "tiny.toml").section
    log = EventLog.of([("ann", "tea")], items=["tea"])
    weekly = EventLog.of([("ann", "tea", "Monday")], items=["tea"], contexts=["Monday"])

    def names(**logs: tuple[EventLog, Kind]) -> list[str]:
        data = {name: Dataset(name, log, kind, "", "", sizes=Sizes(1, 1, 1)) for name, (log, kind) in logs.items()}
        return [f"{chart.name} {'+'.join(chart.datasets)}" for chart in section.drawn(data)]

    films, places = "mse-films Films", "mse-places Places"
    assert names() == []
    assert names(Films=(log, "shared"), Places=(log, "shared")) == [films, "mae-films Films", places]
    assert names(Places=(weekly, "shared")) == [places, "both Places"]
    assert names(Films=(weekly, "shared"), Places=(weekly, "shared"))[-1] == "both Films+Places"
    assert names(Films=(weekly, "stand-in"), Places=(weekly, "shared")) == [places, "both Places"]


def test_every_verdict_there_is() -> None:
    apart, same = (LOW, HIGH), (LOW, [1.0, 1.2, 0.9])
    assert [verdict.verdict for verdict in judged(TINY, apart, apart)] == ["reproduced"]
    assert [verdict.verdict for verdict in judged(TINY, apart, (HIGH, LOW))] == ["not reproduced"]
    assert [verdict.verdict for verdict in judged(TINY, apart, same)] == ["undecided"]
    assert [verdict.verdict for verdict in judged(TINY, same, (HIGH, LOW))] == ["not reproduced"]
    missing = {"Films": "lost", "Places": "lost too"}
    [verdict] = judged(TINY, apart, apart, absent=missing)
    assert verdict.verdict == "not testable"
    assert verdict.measured == "Films items: lost; Places items: lost too"
    assert {"reproduced", "not reproduced", "undecided", "not testable"} == set(WORDS)


def test_what_cannot_be_tried_does_not_decide() -> None:
    [verdict] = judged(TINY, (LOW, HIGH), (HIGH, LOW), absent={"Places": "lost"})
    assert [case.verdict for case in verdict.cases] == ["reproduced", "not testable"]
    assert verdict.verdict == "reproduced"


def test_another_log_is_named() -> None:
    [verdict] = judged(TINY, (LOW, HIGH), (LOW, HIGH))
    assert [case.case for case in verdict.cases] == ["Films items", "Places items (here foursquare-nyc)"]


def test_a_stand_in_decides_only_what_hangs_on_sizes() -> None:
    [verdict] = judged(TINY, (LOW, HIGH), (LOW, HIGH), stand_ins=["Films", "Places"])
    assert verdict.verdict == "not testable"
    assert "only a stand-in" in verdict.measured
    text = TINY.replace("judge =", "shape_alone = true\njudge =")
    [verdict] = judged(text, (LOW, HIGH), (LOW, HIGH), stand_ins=["Films", "Places"])
    assert verdict.verdict == "reproduced"


def test_a_number_of_the_papers_own_data_needs_these() -> None:
    text = TINY.replace("judge =", "exact_data = true\njudge =")
    [verdict] = judged(text, (LOW, HIGH), (LOW, HIGH))
    assert [case.verdict for case in verdict.cases] == ["reproduced", "not testable"]


def test_a_table_that_the_data_lack_is_not_testable() -> None:
    text = TINY.replace('dataset = "Places", table = "items"', 'dataset = "Places", table = "edges"')
    [verdict] = judged(text, (LOW, HIGH), (LOW, HIGH))
    assert verdict.cases[1].measured == "foursquare-nyc has no edges"


def test_a_claim_without_a_verdict_is_an_error() -> None:
    claims = parse_claims(TINY + SECOND, "tiny.toml")
    verdicts = judged(TINY + SECOND, (LOW, HIGH), (LOW, HIGH))
    assert [verdict.verdict for verdict in verdicts] == ["reproduced", "not reproduced"]
    check_complete(claims, verdicts)
    with pytest.raises(IncompleteError, match="2 claims were written down for tiny and 1 judged: second"):
        check_complete(claims, verdicts[:1])
    with pytest.raises(IncompleteError):
        check_complete(claims, [*verdicts, verdicts[0]])
    with pytest.raises(IncompleteError):
        check_complete(parse_claims(TINY, "tiny.toml"), verdicts)


def test_what_the_text_does_not_hold_is_not_testable() -> None:
    claims = read_claims("dpsense")
    compared = [candidate for candidate in claims.claim if candidate.id == "errors-compared"]
    silent = claims.model_copy(update={"claim": compared})
    [verdict] = judge_all(silent, Results(table_of([])), {}, [])
    assert verdict.verdict == "not testable"
    assert "ends before the results" in verdict.measured
