"""The paper's own data are taken where they are at hand, and decide what hangs on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headcount.lab.datasets import by_name, large
from headcount.lab.datasets.by_name import Kind, form_of
from headcount.lab.datasets.entries import ENTRIES
from headcount.lab.replicate import paper
from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.claims.claims import Claims, PaperData, Preferred, parse_claims
from headcount.lab.replicate.claims.verdicts import Verdict, judge_all
from headcount.lab.replicate.paper import at_hand, gather, reproduce
from headcount.lab.replicate.results import Results, Row, table_of
from tests.lab.datasets.publishers import PUBLISHED
from tests.lab.replicate import papers
from tests.lab.replicate.claims.test_claims import HIGH, LOW, TINY

DATA = PaperData(
    paper="Clicks",
    name="kosarak-prefix",
    same=False,
    lacks=["edges"],
    note="a part",
    first=[
        Preferred(name="kosarak", form="original download", same=True, note="the file"),
        Preferred(name="netflix", same=False, note="films"),
    ],
)
"""With what is preferred to it."""


@pytest.mark.parametrize(
    ("forms", "taken"),
    [
        ({}, ("kosarak-prefix", False, ["edges"])),
        ({"kosarak": "original download"}, ("kosarak", True, [])),
        ({"kosarak": "shared"}, ("kosarak-prefix", False, ["edges"])),
        ({"netflix": "stand-in"}, ("kosarak-prefix", False, ["edges"])),
        ({"netflix": "shared"}, ("netflix", False, [])),
        ({"netflix": "shared", "kosarak": "original download"}, ("kosarak", True, [])),
    ],
)
def test_the_best_that_is_at_hand_is_taken(forms: dict[str, Kind], taken: tuple[str, bool, list[str]]) -> None:
    dataset = DATA.at_hand(forms.get)
    assert (dataset.name, dataset.same, dataset.lacks) == taken
    assert dataset.paper == "Clicks"
    assert dataset.at_hand(forms.get) == dataset


@pytest.mark.parametrize("name", PAPERS)
def test_preferred_datasets_have_downloads_and_lack_no_more_parts(name: str) -> None:
    for dataset in PAPERS[name].claims.dataset:
        for better in dataset.first:
            assert ENTRIES[better.name].downloads
            assert better.same or not dataset.same
            assert len(better.lacks) <= len(dataset.lacks)


OWN = [
    ("fan-jin", "Netflix", "netflix", True),
    ("fan-jin", "Gowalla", "gowalla", False),
    ("kellaris", "Checkin", "gowalla-all-places", True),
    ("kellaris", "Document", "pubmed", True),
    ("kellaris", "Netflix", "netflix", True),
    ("dpsense", "Movielens", "movielens-10m", True),
    ("dpsense", "Kosarak", "kosarak", True),
    ("dpsense", "Transaction", "bms-pos", True),
    ("dpsense", "Netflix", "netflix", True),
    ("dpsense", "Document", "pubmed", True),
    ("pncf", "MovieLens", "movielens-1m", True),
    ("pncf", "Netflix", "netflix-extract", False),
    ("pritop", "Last.fm", "hetrec-lastfm-tags", True),
    ("pritop", "Del.icio.us", "hetrec-delicious-tags", False),
]


@pytest.mark.parametrize(("which", "data", "name", "same"), OWN)
def test_claims_use_the_papers_own_data_where_they_are(
    which: str, data: str, name: str, same: bool, tmp_path: Path
) -> None:
    papers.shared(tmp_path)
    claims = PAPERS[which].claims
    before = at_hand(claims, tmp_path).data(data)
    assert before == claims.data(data)
    PUBLISHED[name].write(tmp_path)
    after = at_hand(claims, tmp_path).data(data)
    assert (after.name, after.same, after.lacks) == (name, same, [])
    assert form_of(after.name, tmp_path) == "original download"
    others = [dataset for dataset in claims.dataset if dataset.paper != data]
    assert [dataset for dataset in at_hand(claims, tmp_path).dataset if dataset.paper != data] == others


def test_every_preference_is_tried_above() -> None:
    written = {
        (name, dataset.paper, better.name)
        for name in PAPERS
        for dataset in PAPERS[name].claims.dataset
        for better in dataset.first
    }
    assert written == {(which, data, name) for which, data, name, _ in OWN}


def test_they_are_loaded_in_place_of_the_other_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_name, "check_sizes", lambda *_: None)
    monkeypatch.setattr(large, "FEWEST", 1)
    papers.shared(tmp_path)
    dpsense = PAPERS["dpsense"].claims
    datasets, absent = gather(dpsense, tmp_path)
    assert datasets["Kosarak"].name == "kosarak-prefix"
    assert "; for the data of the paper get nf_prize_dataset.tar.gz" in absent["Netflix"]
    for name in ("kosarak", "netflix", "bms-pos"):
        PUBLISHED[name].write(tmp_path)
    datasets, absent = gather(dpsense, tmp_path)
    assert set(absent) == {"Document", "AOL"}
    assert {name: datasets[name].name for name in ("Kosarak", "Netflix", "Transaction", "Movielens")} == {
        "Kosarak": "kosarak",
        "Netflix": "netflix",
        "Transaction": "bms-pos",
        "Movielens": "movielens-1m",
    }
    assert {datasets[name].kind for name in ("Kosarak", "Netflix")} == {"original download"}


def test_a_number_of_the_papers_own_data_is_judged_on_them(tmp_path: Path) -> None:
    better = 'note = "another crawl"\nfirst = [{ name = "gowalla", same = true, note = "theirs" }]'
    text = TINY.replace("judge =", "exact_data = true\njudge =").replace('note = "another crawl"', better)
    rows = [
        Row("trial", data, method, "items", 1.0, None, "MSE", None, run, value)
        for data in ("Films", "Places")
        for method, values in (("a", LOW), ("b", HIGH))
        for run, value in enumerate(values)
    ]
    claims, results = parse_claims(text, "tiny.toml"), Results(table_of(rows))
    [before] = judge_all(at_hand(claims, tmp_path), results, {}, [])
    assert [case.verdict for case in before.cases] == ["reproduced", "not testable"]
    assert "foursquare-nyc is another log; gowalla would decide it" in before.measured
    papers.gowalla(tmp_path)
    [after] = judge_all(at_hand(claims, tmp_path), results, {}, [])
    assert [(case.case, case.verdict) for case in after.cases] == [
        ("Films items", "reproduced"),
        ("Places items", "reproduced"),
    ]


def test_a_part_of_the_papers_own_data_is_not_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    papers.shared(tmp_path)
    (tmp_path / "kosarak.parquet").write_bytes((tmp_path / "kosarak-prefix.parquet").read_bytes())
    claims = at_hand(PAPERS["dpsense"].claims, tmp_path)
    assert claims.data("Kosarak").same
    datasets, _ = gather(claims, tmp_path)
    assert (datasets["Kosarak"].name, datasets["Kosarak"].as_published) == ("kosarak", False)
    judged: list[Claims] = []

    def judge(given: Claims, *_: object) -> list[Verdict]:
        judged.append(given)
        return []

    monkeypatch.setattr(paper, "judge_all", judge)
    nothing = replace(PAPERS["dpsense"], settings=lambda *_: (), derived=lambda _: ())
    done = reproduce(nothing, tmp_path, tmp_path / "parts", quick=True, processes=1)
    assert judged == [done.claims]
    assert not done.claims.data("Kosarak").same
    assert not done.summary()["datasets"]["Kosarak"]["same"]
    assert done.claims.data("Transaction") == claims.data("Transaction")
