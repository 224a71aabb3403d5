"""Contexts and tags that nobody lists are selected as items are, each for its own share of ε and δ."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.errors import NotSelectedError, UsageError
from headcount.events.contexts import Context, UnknownContext
from headcount.events.selection_targets import CONTEXTS, ITEMS, TAGS
from headcount.lab.compare.comparison import Comparison
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.partition_selection.plan import Selection, select_all, split_among
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.request import ChargedRequest, request_of
from headcount.methods.tags.request import TagsRequest
from headcount.noise import SeededNoise
from headcount.run.prepare import prepare_request
from tests.contracts.support.method_checks import recorded_spending
from tests.run.test_curator import Unreadable
from tests.support.curator_runs import planned, ran

DELTA = (
    "1e-14"  # so that what one person alone has is not selected: in all tests here together, once in 10^10 runs
)
SPEND: dict[str, Any] = {"epsilon": "10", "delta": DELTA, "select_limit": 3}
SRA: dict[str, Any] = {"method": "sra", "limit": 3}
ROWS = tuple(
    (f"u{n}", item, place)
    for n in range(300)
    for item, place in (("tea", "AM"), ("rye", "PM"), ("tea", f"only u{n} was here"))
)
"""Everybody has two items in two places, and was at one where nobody else was."""


def log(rows: Any = ROWS, **words: Any) -> hc.EventLog:
    """Read rows whose contexts are to be selected."""
    table = pa.table(dict(zip(("who", "what", "where"), map(list, zip(*rows, strict=True)), strict=True)))
    words = {"items": ["rye", "tea"], **words} if "select_items" not in words else words
    return hc.read_events(table, user="who", item="what", context="where", select_contexts=True, **words)


def tagged(**words: Any) -> hc.EventLog:
    """Read the same rows as items that people tagged with places."""
    table = pa.table(dict(zip(("who", "what", "where"), map(list, zip(*ROWS, strict=True)), strict=True)))
    words = {"resources": ["rye", "tea"], "select_tags": True, **words}
    return hc.read_tags(table, user="who", resource="what", tag="where", **words)


@pytest.mark.parametrize("words", [{}, {"select_items": True}, {"select_items": True, "context_of": "user"}])
@pytest.mark.parametrize("options", [SRA, {}], ids=["sra", "default"])
def test_contexts_are_selected_before_a_release(words: dict[str, Any], options: dict[str, Any]) -> None:
    with recorded_spending() as spent:
        release = hc.release(log(**words), **SPEND, **options)
    assert release.contexts == ("AM", "PM")
    assert release.edges["context"].to_pylist()[:3] == ["AM", "PM", None]
    assert sum(Fraction(grant.epsilon) for grant in spent) == 10
    assert sum(Fraction(grant.delta) for grant in spent) == Fraction(DELTA)
    assert (release.guarantee.epsilon, release.guarantee.delta) == (Decimal(10), Decimal(DELTA))
    selection = release.chosen["context-selection"]
    both = "select_items" in words
    assert (selection["epsilon"], selection["contexts"]) == ("2", 2)
    assert Decimal(selection["delta"]) == Decimal(DELTA) / (2 if both else 1)
    assert ("selection" in release.chosen) is both
    assert release.steps[0].startswith(
        "There was no public list of contexts. To select contexts, at most 3 different"
    )
    assumed = " ".join(release.guarantee.assumes)
    assert "3 contexts per person for selection" in assumed
    assert "contexts are public" not in assumed
    assert ("the catalogue of items is public" in assumed) is not both
    assert "only u" not in json.dumps(release.to_json())


def test_contexts_are_selected_before_rankings_totals_and_models() -> None:
    ranking = hc.rank(log(), k=1, per_context=True, **SPEND).ranking
    assert dict(zip(ranking["context"].to_pylist(), ranking["item"].to_pylist(), strict=True)) == {
        "AM": "tea", "PM": "rye",
    }  # fmt: skip
    totals = hc.release(log(), what="totals", by="contexts", limit=3, shares={"context-selection": "0.3"}, **SPEND)
    assert totals.tables["groups"]["of"].to_pylist()[:3] == ["AM", "PM", None]
    assert totals.chosen["context-selection"]["epsilon"] == "3"
    model = hc.fit_neighbours(log(), method="visits", **SPEND)
    assert model.release.contexts == ("AM", "PM")


@pytest.mark.parametrize(
    ("words", "options"),
    [({}, SRA), ({"select_items": True}, SRA), ({}, {"what": "totals", "by": "contexts", "limit": 3})],
)
def test_nothing_more_is_spent_where_no_context_is_selected(
    words: dict[str, Any], options: dict[str, Any]
) -> None:
    lone = [(who, item, f"only {who} was here {n}") for n, (who, item, _) in enumerate(ROWS)]
    with recorded_spending() as spent:
        release = hc.release(log(lone, **words), **SPEND, **options)
    assert [(grant.epsilon, grant.delta) for grant in spent] == [
        (Decimal(2), Decimal(DELTA) / (2 if words else 1))
    ]
    assert not any(table.num_rows for table in release.tables.values())
    assert "selection" not in release.chosen, "items were not even looked for"
    assert "no context." in release.steps[0]
    assert "--shares context-selection=0.5; it had 2)" in release.steps[2]
    assert "--contexts needs neither" in release.steps[2]
    fewer = hc.release(log(lone[::2], **words), **SPEND, **options)
    assert [grant.to_json() | {"created": 0} for grant in (release, fewer)] == [
        release.to_json() | {"created": 0}
    ] * 2, "who has what hangs on the log"


def test_a_ledger_gives_back_what_was_not_done(tmp_path: Path) -> None:
    ledger = hc.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create("town", "50", delta="1e-6")
    charged: dict[str, Any] = {"ledger": ledger, "dataset": "town", **SRA, "epsilon": 10, "delta": 1e-8}
    lone = [(who, item, f"only {who} was here {n}") for n, (who, item, _) in enumerate(ROWS)]
    hc.release(log(lone, select_items=True), **charged).save(tmp_path / "no context")
    assert ledger.show("town").spent.loss == 2
    assert ledger.show("town").spent.delta == Decimal("5e-9")
    own = [(who, f"what {who} has {n}", place) for n, (who, _, place) in enumerate(ROWS)]
    hc.release(log(own, select_items=True), **charged, again=True).save(tmp_path / "no item")
    assert ledger.show("town").spent.loss == 2 + 2 + 2
    hc.release(log(select_items=True), **charged, again=True).save(tmp_path / "both")
    assert ledger.show("town").spent.loss == 6 + 10
    assert ledger.show("town").spent.delta == Decimal("2.5e-8")
    assert ledger.verify().ok


PRICED: dict[str, tuple[ChargedRequest, hc.EventLog]] = {
    "adaptive": (request_of(ReleaseRequest, **SPEND, noise="gaussian"), log()),
    "adaptive, items": (request_of(ReleaseRequest, **SPEND, noise="gaussian"), log(select_items=True)),
    "visits": (request_of(RecommenderRequest, **SPEND, method="visits"), log()),
    "visits, items": (request_of(RecommenderRequest, **SPEND, method="visits"), log(select_items=True)),
    "tags": (request_of(TagsRequest, **SPEND), tagged()),
}


@pytest.mark.parametrize("name", PRICED)
def test_what_a_ledger_charges_hangs_on_nothing_that_is_selected(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, unread = PRICED[name]
    ready = prepare_request(request, replace(unread, source=Unreadable(unread.source)))
    charges = []
    for many in (1, 7, 100):
        for kind in (CONTEXTS, ITEMS, TAGS):
            monkeypatch.setattr(type(kind), "stand_ins", many)
        charges.append(ready.charge)
    assert charges[0].rho
    assert charges[1:] == charges[:-1]


def test_a_plan_reads_no_event_and_foresees_the_release() -> None:
    unread = replace(log(), source=Unreadable(log().source))
    request = request_of(ReleaseRequest, **SPEND, **SRA)
    plan, release = planned(request, unread), ran(request, log())
    assert plan.guarantee == release.guarantee
    assert plan.noise == release.noise
    assert {**plan.selections["context-selection"], "contexts": 2} == release.chosen["context-selection"]
    assert plan.to_json()["context-selection"]["epsilon"] == "2"
    assert plan.cells == {"items": None, "edges": None}
    alone = request_of(ReleaseRequest, **SPEND, **SRA, what="items")
    assert planned(alone, replace(unread, context_of="user")).cells == {"items": 2}, "known, since the items are"


def test_records_of_items_that_do_not_count_select_nothing() -> None:
    rows = [
        *ROWS,
        *((f"u{n}", "oat", "nowhere else") for n in range(300)),
        *((f"u{n}", None, "lost") for n in range(300)),
    ]
    assert hc.release(log(rows), **SPEND, **SRA).contexts == ("AM", "PM")
    assert hc.release(log(rows, items=["oat", "tea"]), **SPEND, **SRA).contexts == ("AM", "nowhere else")
    release = hc.release(log(rows, select_items=True), **{**SPEND, "select_limit": 5}, **SRA)
    assert release.contexts == ("AM", "PM", "nowhere else")


def test_contexts_may_be_numbers() -> None:
    rows = [(who, item, -7 if item == "tea" else 12) for who, item, _ in ROWS]
    release = hc.release(log(rows), **SPEND, **SRA)
    assert release.contexts == ("-7", "12")
    assert release.top(1, "12")[0]["item"] == "rye"


def test_shares_name_what_is_selected() -> None:
    given = {"context-selection": "0.3"}
    release = hc.release(log(select_items=True), **SPEND, **SRA, shares=given)
    assert release.chosen["context-selection"]["epsilon"] == "3"
    assert release.chosen["selection"]["epsilon"] == "2", "by default"
    given |= {"selection": "0.1", "items": "0.2", "edges": "0.4"}
    release = hc.release(log(select_items=True), **SPEND, **SRA, shares=given)
    assert "paid with ε = 2." in " ".join(release.steps)
    assert "paid with ε = 4." in " ".join(release.steps)
    for wrong, pattern in (
        ({"items": "0.5", "edges": "0.5"}, "selection among them"),
        ({"selection": "0.2", "items": "0.4", "edges": "0.4"}, "context-selection among them"),
        ({"selection": "0.95"}, "leave something for the release"),
    ):
        with pytest.raises(UsageError, match=pattern):
            hc.release(log(select_items=True), **SPEND, **SRA, shares=wrong)
    with pytest.raises(UsageError, match="context-selection among them"):
        hc.release(log(), **SPEND, **SRA, shares={"selection": "0.2"})


def test_delta_is_halved_for_a_method_that_needs_some() -> None:
    both = tuple(Selection(of=selectable, halves_delta=True) for selectable in (CONTEXTS, ITEMS))
    parts, rest = split_among(both, Grant("1", "1e-6"))
    assert [part.delta for part in parts] == [Decimal("2.5e-7")] * 2
    assert (rest.epsilon, rest.delta) == (Decimal("0.6"), Decimal("5e-7"))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"contexts": "AM,PM"}, "contexts= and select_contexts=True are both given"),
    ({"context": "weekday:where"}, "known by themselves; leave out select_contexts=True"),
    ({"context": "where,what"}, "the values of one column"),
    ({"context": None}, "select_contexts=True is given without context="),
    ({"context": "share"}, "text or whole numbers"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=repr)
def test_what_cannot_be_selected_is_refused(change: dict[str, Any], message: str) -> None:
    table = pa.table({"who": ["ann"], "what": ["tea"], "where": ["AM"], "share": [True]})
    words = {
        "user": "who",
        "item": "what",
        "items": ["tea"],
        "context": "where",
        "select_contexts": True,
        **change,
    }
    with pytest.raises(hc.HeadcountError, match=message):
        hc.read_events(table, **words)


def test_what_needs_a_list_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a selection needs delta="):
        hc.release(log(), epsilon=1, **SRA)
    with pytest.raises(UsageError, match="a selection needs delta="):
        hc.release_tags(tagged(), epsilon=1)
    with pytest.raises(UsageError, match="select_contexts=True has none before it spends"):
        hc.pack(log(), tmp_path / "store")
    with pytest.raises(UsageError, match="--select-contexts has none before it spends"):
        Comparison().compared(log())
    with pytest.raises(UsageError, match="select_contexts=True is of no use here"):
        hc.release(log(), **SPEND, **SRA, what="items")
    with pytest.raises(UsageError, match="select_contexts=True is of no use here"):
        hc.rank(log(), **SPEND, k=1)
    store = hc.pack(hc.read_events(log().source.table, user="who", item="what", items=["tea"]), tmp_path / "store")  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="select_contexts=True cannot be given"):
        hc.read_events(store, select_contexts=True)
    with pytest.raises(UsageError, match="select_tags=True cannot be given"):
        hc.read_tags(store, select_tags=True)
    with pytest.raises(UsageError, match="vocabulary= and select_tags=True are both given"):
        tagged(vocabulary=["AM"])
    with pytest.raises(UsageError, match=r"vocabulary= is missing.*add select_tags=True"):
        tagged(select_tags=False)


def test_a_context_to_be_selected_tells_its_name_alone() -> None:
    context = log().context
    assert context is not None
    assert context == UnknownContext("where") != UnknownContext("who")
    assert hash(context) == hash(UnknownContext("where"))
    assert (context.name, repr(context)) == ("where", "UnknownContext('where')")
    assert context != Context(("where",), (("AM",),))
    for use in (lambda: log().width, lambda: log().cells, lambda: context.labels, lambda: context.size):
        with pytest.raises(NotSelectedError, match="the values of 'where' are still to be selected"):
            use()
    assert log().describe()["select_contexts"] is True
    assert "contexts" not in log().describe()
    assert "'where' was not looked at" in hc.check(log()).hints[-1]


def test_tags_are_selected_before_a_model() -> None:
    with recorded_spending() as spent:
        release = hc.release_tags(tagged(), **SPEND)
    assert release.tables["model/tags"]["tag"].to_pylist() == ["AM", "PM"]
    selection = release.chosen["tag-selection"]
    assert (selection["epsilon"], Decimal(selection["delta"]), selection["tags"]) == ("2", Decimal(DELTA) / 2, 2)
    alone = {grant.cost.epsilon: grant.cost.delta for grant in spent if grant.cost.part is None}
    assert alone == {Decimal(2): Decimal(DELTA) / 2, Decimal("0.16"): 0}
    assert {grant.cost.delta for grant in spent if grant.cost.part is not None} == {Decimal(DELTA) / 2}
    assert "the list of resources is public" in " ".join(release.guarantee.assumes)
    assert release.request["events"]["select_tags"] is True
    assert "vocabulary" not in release.request["events"]
    assert "There was no public list of tags" in release.steps[0]


def test_nothing_more_is_spent_where_no_tag_is_selected() -> None:
    with recorded_spending() as spent:
        release = hc.release_tags(tagged(), epsilon="0.01", delta=DELTA, select_limit=1)
    assert [(grant.epsilon, grant.delta) for grant in spent] == [(Decimal("0.002"), Decimal(DELTA) / 2)]
    assert not any(table.num_rows for table in release.tables.values())
    assert release.tables["model/tags"].schema.field("stands_out").type == pa.bool_()
    assert "--vocabulary needs neither" in release.steps[2]


def test_a_tag_log_can_be_counted_as_well() -> None:
    assert hc.release(tagged(), **SPEND, **SRA).contexts == ("AM", "PM")


def test_items_are_selected_per_own_context_after_contexts() -> None:
    """Half of the people are mostly in the morning, with tea; their rye of the evening does not count."""
    rows = [
        (f"u{n}", item, place) for n in range(300) for item, place in (("tea", "AM"), ("tea", "AM"), ("rye", "PM"))
    ]
    unread = log(rows, select_items=True, context_of="user")
    selections = request_of(ReleaseRequest, **SPEND, **SRA).selections(unread)
    grants, rest = split_among(selections, Grant("10", DELTA))
    selected_log, reports = select_all(selections, unread, grants, SeededNoise(1), LocalEngine())
    assert list(reports) == ["context-selection", "selection"]
    assert selected_log.catalogue.ids == ("tea",)
    assert selected_log.context is not None
    assert selected_log.context.labels == ("AM", "PM")
    assert not rest.is_spent


def test_what_a_record_names_can_be_sent_to_other_processes() -> None:
    batch = pa.record_batch({"what": ["tea", None, "oat"]})
    named = CONTEXTS.as_items(log()).conditions[-1]
    assert named.holds(batch).tolist() == [True, False, False]
    again = pickle.loads(pickle.dumps(named))
    assert again == named
    assert again.holds(batch).tolist() == [True, False, False]
