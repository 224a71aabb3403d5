"""Items are selected before any method runs, for a share of ε and for δ; all of it is spent, and told."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.engines.local.engine import LocalEngine
from headcount.errors import NotSelectedError, UsageError
from headcount.events.catalogue import UnknownCatalogue
from headcount.events.selection_targets import ITEMS
from headcount.methods.counts import FAMILY
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.partition_selection.plan import Selection, divide_budget_split
from headcount.methods.partition_selection.release import add_selection_steps, advice, empty_release
from headcount.methods.rankings.request import RankRequest
from headcount.methods.registry import build
from headcount.methods.request import request_of
from headcount.noise import SeededNoise
from headcount.noise.partition_selection.threshold import threshold_for
from tests.contracts.support.method_checks import recorded_spending
from tests.reference.engine import ReferenceEngine
from tests.run.test_curator import Unreadable
from tests.support.curator_runs import planned, ran

METHODS = FAMILY.kinds()

DELTA = "1e-14"  # so that items of one person are not selected: in all tests here together, once in 10^10 runs
SPEND: dict[str, Any] = {"epsilon": "5", "delta": DELTA}


def town(popular: tuple[str, ...] = ("tea", "rye"), *, contexts: bool = False, people: int = 300) -> hc.EventLog:
    """Everybody has the popular items, and one item that nobody else has."""
    visits = [
        (f"u{n}", item, "AM" if n % 2 else "PM") for n in range(people) for item in (*popular, f"only u{n} has it")
    ]
    return hc.EventLog.of(visits, items=None, contexts=["AM", "PM"] if contexts else None)


def parameters_of(name: str) -> dict[str, Any]:
    fields = {field.name for field in dataclasses.fields(METHODS[name])}  # type: ignore[arg-type]
    return {"method": name, "research": True} | ({"limit": 3} if "limit" in fields else {})


@pytest.mark.parametrize("popular", [("tea", "rye"), ("tea",), ()], ids=["two", "one", "none"])
@pytest.mark.parametrize("contexts", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_before_every_method(name: str, contexts: bool, popular: tuple[str, ...]) -> None:
    log = town(popular, contexts=contexts)
    with recorded_spending() as spent:
        release = hc.release(log, **SPEND, select_limit=2, **parameters_of(name))
    assert release.items["item"].to_pylist() == sorted(popular)
    assert release.items.column_names == ["item", "label", "count", "low", "high"]
    assert set(release.tables) - {"activity"} == ({"items", "edges"} if contexts else {"items"})
    if contexts:
        assert release.edges.num_rows == 3 * len(popular)
        assert release.edges.column_names == ["item", "context", "count", "low", "high"]
        assert release.contexts == ("AM", "PM")
    assert sum(Fraction(grant.epsilon) for grant in spent) == (5 if popular else 1), "nothing to do for the method"
    assert sum(Fraction(grant.delta) for grant in spent) == Fraction(DELTA)
    promised = release.guarantee
    assert (promised.epsilon, promised.delta) == (Decimal(5), Decimal(DELTA))
    assert not any("catalogue" in grant for grant in promised.assumes)
    assert any("2 items per person for selection" in grant for grant in promised.assumes)
    assert release.chosen["selection"]["items"] == len(popular)
    assert release.chosen["selection"]["threshold"] == threshold_for(2, Cost.of("1", DELTA)).users_needed
    assert "There was no public catalogue" in release.steps[0]
    if not popular:
        assert "no item" in release.steps[0]
        assert "the tables are empty" in release.steps[1]
        assert "--shares selection=0.5; it had 1)" in release.steps[2]


@pytest.mark.parametrize("per_context", [False, True])
@pytest.mark.parametrize("with_counts", [False, True])
@pytest.mark.parametrize("popular", [("tea", "rye"), ()], ids=["two", "none"])
def test_before_a_ranking(per_context: bool, with_counts: bool, popular: tuple[str, ...]) -> None:
    log = town(popular, contexts=True)
    with recorded_spending() as spent:
        release = hc.rank(log, k=10, **SPEND, select_limit=2, per_context=per_context, with_counts=with_counts)
    assert sorted(set(release.ranking["item"].to_pylist())) == sorted(popular)
    assert sum(Fraction(grant.epsilon) for grant in spent) == (5 if popular else 1)
    expected = ["rank", "item", "label", *["context"] * per_context, *["count", "low", "high"] * with_counts]
    assert release.ranking.column_names == expected
    assert release.contexts == (("AM", "PM") if per_context else None)
    assert (release.guarantee.epsilon, release.guarantee.delta) == (Decimal(5), Decimal(DELTA))


@pytest.mark.parametrize("popular", [("tea", "rye"), ()], ids=["two", "none"])
def test_a_release_comes_back(popular: tuple[str, ...], tmp_path: Path) -> None:
    log = town(popular, contexts=True)
    for number, release in enumerate(
        (
            hc.release(log, **SPEND, select_limit=2, method="hpa", limit=3),
            hc.rank(log, k=2, **SPEND, select_limit=2),
            hc.rank(log, k=2, **SPEND, select_limit=2, per_context=True),
        )
    ):
        release.save(tmp_path / str(number))
        back = hc.load(tmp_path / str(number))
        assert back.to_json() == release.to_json()
        assert back.tables == release.tables
        assert back.request["events"] == log.describe()
        assert back.request["events"]["select_items"] is True
        shown = json.dumps(back.to_json())
        assert "only u" not in shown


def test_items_of_a_single_user_are_not_selected() -> None:
    release = hc.release(town(people=2_000), **SPEND, select_limit=3, method="sra", limit=3)
    assert release.items["item"].to_pylist() == ["rye", "tea"]
    assert release.top(1)[0]["count"] == pytest.approx(2_000, abs=50)


def test_nothing_but_the_selected_items_depends_on_the_log() -> None:
    """Logs with other private items, or without any, have the same description."""
    descriptions = []
    for people in (300, 900):
        log = town(people=people)
        release = hc.release(log, **SPEND, select_limit=2, method="sra", limit=3)
        described = {key: value for key, value in release.to_json().items() if key != "created"}
        descriptions.append((json.dumps(described), release.sentences()))
    assert descriptions[0] == descriptions[1]


def test_conditions_hold_for_the_selection() -> None:
    rows = [(f"u{n}", item, good) for n in range(900) for item, good in (("tea", 1), ("rye", 0))]
    table = pa.table(dict(zip(("who", "what", "good"), map(list, zip(*rows, strict=True)), strict=True)))
    log = hc.read_events(table, user="who", item="what", select_items=True, where="good = 1")
    assert hc.release(log, **SPEND, method="sra", limit=3).items["item"].to_pylist() == ["tea"]


def test_ids_keep_their_type() -> None:
    visits = [(f"u{n}", item) for n in range(900) for item in (7, 30, -4)]
    release = hc.release(hc.EventLog.of(visits, items=None), **SPEND, method="sra", limit=3)
    assert release.items["item"].to_pylist() == [-4, 7, 30]
    assert release.items["item"].type == pa.int64()
    unlike = hc.EventLog.of([(n, 9 * n) for n in range(9)], items=None)
    nothing = hc.release(unlike, **SPEND, method="sra", limit=3)
    assert nothing.items.schema == release.items.schema


BAD: list[tuple[dict[str, Any], str]] = [
    ({"delta": None}, "needs delta="),
    ({"delta": "2"}, "strictly between 0 and 1"),
    ({"select_limit": 0}, "select_limit must be a whole number"),
    ({"select_limit": 2.5}, "select_limit must be a whole number"),
    ({"shares": {"items": 1}}, "selection among them"),
    ({"shares": {"selection": "0.5", "items": "0.6"}}, "shares must sum to 1"),
    ({"shares": {"selection": 1}}, "leave something for the release"),
    ({"shares": {"selection": "0.5", "edges": "0.5"}}, "stages that run: items"),
    ({"what": "edges"}, "needs a context"),
    ({"method": "srra"}, "did you mean 'sra'"),
    ({"epsilon": "1e-8", "limit": 10**6}, "more than can be drawn"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=repr)
def test_invalid_options_are_refused_before_reading(change: dict[str, Any], message: str) -> None:
    log = town()
    log = replace(log, source=Unreadable(log.source))
    with pytest.raises(hc.HeadcountError, match=message):
        hc.release(log, **{**SPEND, "method": "sra", "limit": 3, **change})


def test_invalid_rankings_are_refused_before_reading() -> None:
    log = town()
    log = replace(log, source=Unreadable(log.source))
    for change, message in (
        ({"per_context": True}, "needs a context"),
        ({"delta": None}, "needs delta="),
        ({"shares": {"selection": "0.5", "counts": "0.5"}}, "stages that run: ranking"),
    ):
        with pytest.raises(UsageError, match=message):
            hc.rank(log, **{**SPEND, "k": 3, **change})


def test_a_public_catalogue_needs_neither() -> None:
    log = hc.EventLog.of([("ann", "tea")], items=["tea"])
    with pytest.raises(UsageError, match='delta= needs noise="gaussian" or select_items=True'):
        hc.release(log, epsilon=1, delta=1e-6, method="sra", limit=1)
    with pytest.raises(UsageError, match="nothing is selected"):
        hc.release(log, epsilon=1, select_limit=3, method="sra", limit=1)
    assert hc.rank(log, epsilon=1, delta=1e-6, k=1).guarantee.delta == Decimal("1e-6")
    with pytest.raises(UsageError, match="stages that run: items"):
        hc.release(log, epsilon=1, method="sra", limit=1, shares={"selection": "0.2", "items": "0.8"})


def test_a_log_says_how_it_gets_its_items(tmp_path: Path) -> None:
    table = pa.table({"who": ["ann"], "what": ["tea"]})
    neither = hc.read_events(table, user="who", item="what")
    for use in (
        lambda: hc.release(neither, epsilon=1, method="sra", limit=1),
        lambda: hc.rank(neither, epsilon=1, k=1),
        lambda: hc.pack(neither, tmp_path / "store"),
    ):
        with pytest.raises(UsageError, match=r"list them with items=FILE .* add select_items=True and delta="):
            use()
    assert not neither.selects
    assert not (tmp_path / "store").exists()
    with pytest.raises(UsageError, match="both given"):
        hc.read_events(table, user="who", item="what", items=["tea"], select_items=True)
    with pytest.raises(UsageError, match="packed with a public catalogue"):
        hc.pack(hc.read_events(table, user="who", item="what", select_items=True), tmp_path / "store")
    store = hc.pack(hc.read_events(table, user="who", item="what", items=["tea"]), tmp_path / "store")
    with pytest.raises(UsageError, match="packed with a public catalogue"):
        hc.read_events(store, select_items=True)


def test_a_method_alone_selects_nothing() -> None:
    log = town()
    for use in (
        lambda: build("sra", {"limit": 1}).release(log, Grant(1), SeededNoise(1)),
        lambda: build("dpsense", {}).noise_distributions(log, Grant(1)),
        lambda: log.cells,
        lambda: log.catalogue.ids,
        lambda: log.catalogue.labels,
        lambda: log.catalogue.digest,
        lambda: log.catalogue.as_type(pa.string(), "item"),
    ):
        with pytest.raises(NotSelectedError, match="still to be selected"):
            use()
    assert log.selects
    assert log.catalogue == UnknownCatalogue()
    assert hash(log.catalogue) == hash(UnknownCatalogue())
    assert log == replace(log)
    assert "UnknownCatalogue" in repr(log.catalogue)


def test_a_plan_reads_no_event_and_foresees_the_release() -> None:
    log = town(contexts=True)
    unread = replace(log, source=Unreadable(log.source))
    request = request_of(ReleaseRequest, **SPEND, method="sra", limit=3, select_limit=2)
    plan, release = planned(request, unread), ran(request, log)
    assert plan.guarantee == release.guarantee
    assert plan.noise == release.noise
    assert plan.cells == {"items": None, "edges": None}
    assert {**plan.selections["selection"], "items": 2} == release.chosen["selection"]
    written = json.loads(json.dumps(plan.to_json()))
    assert written["price"]["epsilon"] == "5"
    assert Decimal(written["price"]["delta"]) == Decimal(DELTA)
    assert written["selection"]["threshold"] == plan.selections["selection"]["threshold"]
    assert planned(request_of(RankRequest, **SPEND, k=3), unread).noise == {}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_plan(name: str) -> None:
    log = town(contexts=True)
    unread = replace(log, source=Unreadable(log.source))
    plan = planned(request_of(ReleaseRequest, **SPEND, **parameters_of(name)), unread)
    assert "limit" not in plan.selections["selection"]
    assert plan.selections["selection"]["threshold"] == 36
    assert plan.guarantee.delta == Decimal(DELTA)


@given(st.lists(st.integers(1, 190), min_size=1, max_size=5))
def test_shares_are_divided_exactly(parts: list[int]) -> None:
    given_ = {f"s{n}": Decimal(part) / 1000 for n, part in enumerate(parts)}
    left = sum(given_.values(), start=Decimal(0))
    first, rest = divide_budget_split({**given_, "selection": 1 - left})
    assert first == {"selection": 1 - left}
    assert rest is not None
    assert list(rest) == list(given_)
    assert sum(map(Fraction, rest.values())) == 1
    for name, part in rest.items():
        assert abs(Fraction(part) - Fraction(given_[name]) / Fraction(left)) < Fraction(1, 10**20)
    parts_of_it = Grant("1").split({**first, "rest": left})["rest"].split(rest)
    assert all(parts_of_it[name].epsilon == given_[name] for name in given_), "not the amounts asked for"


def test_stated_amounts_equal_the_request() -> None:
    release = hc.release(
        town(contexts=True), epsilon="1", delta=DELTA, method="sra", limit=3, select_limit=2,
        shares={"selection": "0.4", "items": "0.2", "edges": "0.4"},
    )  # fmt: skip
    explanation = " ".join(release.steps)
    assert "ε = 0.4 and δ" in explanation
    assert "paid with ε = 0.2." in explanation
    assert "paid with ε = 0.4." in explanation


def test_the_method_may_need_delta_as_well() -> None:
    first, rest = Selection(halves_delta=True).split(Grant("1", "1e-6"))
    assert (first.delta, rest.delta) == (Decimal("5e-7"), Decimal("5e-7"))
    assert (first.epsilon, rest.epsilon) == (Decimal("0.2"), Decimal("0.8"))


def test_a_seeded_selection_is_the_same_on_every_engine() -> None:
    log, selection = town(), Selection(limit=2)
    tables = []
    for engine in (None, ReferenceEngine()):
        first, rest = selection.split(Grant("5", DELTA))
        chosen, report = selection.select(log, first, SeededNoise(3), engine or LocalEngine())
        release = build("sra", {"limit": 2}).release(chosen, rest, SeededNoise(3), engine or LocalEngine())
        release = add_selection_steps(release, {"selection": report})
        assert release.simulated
        tables.append(release.tables)
    assert tables[0] == tables[1]


def test_an_empty_release_of_seeded_noise_says_so() -> None:
    log = replace(town(), catalogue=hc.Catalogue.selected([], pa.string()))
    grant = Grant("1")
    method = build("sra", {"limit": 2})
    release = empty_release(method, log, grant, SeededNoise(1), {"items": ("item", "count")}, "why")
    assert grant.is_spent
    assert release.simulated
    assert release.top(3) == []


def shelf(people: int = 400) -> hc.EventLog:
    """Everybody has twelve popular items and eight of their own."""
    visits = [(n, item) for n in range(people) for item in (*range(12), *range(1_000 + 8 * n, 1_008 + 8 * n))]
    return hc.EventLog.of(visits, items=None)


@pytest.mark.parametrize("method", ["sra", "adaptive"])
def test_without_a_bound_users_with_many_items_divide_their_weight(method: str) -> None:
    with recorded_spending() as spent:
        release = hc.release(shelf(), **SPEND, **parameters_of(method))
    assert release.items["item"].to_pylist() == list(range(12))
    assert release.chosen["selection"]["law"] == "many"
    assert sum(Fraction(grant.epsilon) for grant in spent) == 5
    assert sum(Fraction(grant.delta) for grant in spent) == Fraction(DELTA)
    assert not any("limit" in grant and "selection" in grant for grant in release.guarantee.assumes)
    assert "spread weight" in release.steps[0]


def test_without_a_bound_users_with_few_items_name_one() -> None:
    """Noise of scale 50 on -781: people have several items, as it seems, less often than once in a million."""
    release = hc.release(town(("tea",), people=5_000), **SPEND, method="sra", limit=3)
    assert release.items["item"].to_pylist() == ["tea"]
    assert release.chosen["selection"]["law"] == "few"
    assert "each named one" in release.steps[0]


@pytest.mark.parametrize("log", [shelf(60), town(("tea",))], ids=["many", "few"])
def test_a_seeded_selection_without_a_limit_is_the_same_on_every_engine(log: hc.EventLog) -> None:
    selections = [
        Selection().select(log, Grant("1", "1e-6"), SeededNoise(3), engine)[0].catalogue.ids
        for engine in (LocalEngine(), ReferenceEngine())
    ]
    assert selections[0] == selections[1]
    assert selections[0]


def test_nothing_is_charged_for_what_is_not_done(tmp_path: Path) -> None:
    """A ledger gives back what was reserved for the method if no item was selected, and its journal shows it."""
    ledger = hc.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create("town", "5", delta="1e-6")
    charged: dict[str, Any] = {"ledger": ledger, "dataset": "town", "method": "sra", "limit": 3}
    nothing = hc.release(town(()), epsilon=1, delta=1e-7, **charged)
    assert ledger.show("town").spent.loss == 1, "until it is known what was found, all of it is reserved"
    nothing.save(tmp_path / "nothing")
    assert ledger.show("town").spent.loss == Decimal("0.2")
    assert ledger.show("town").spent.delta == Decimal("1e-7")
    hc.release(town(), epsilon=3, delta=1e-7, **charged).save(tmp_path / "something")
    assert ledger.show("town").spent.loss == Decimal("3.2")
    assert ledger.verify().ok
    published = [entry.charge for entry in ledger.history("town") if entry.kind == "publish"]
    assert published[0] is not None
    assert (published[0]["epsilon"], published[1]) == ("0.2", None)


def test_advice_uses_public_numbers_alone() -> None:
    sentence = advice(ITEMS, {"epsilon": "0.20", "items": 0})
    assert "it had 0.2)" in sentence
    assert "--items" in sentence
