"""Charging requests from Python: costs, identities, and what a ledger keeps."""

from __future__ import annotations

import json
import threading
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.zcdp import pure_rho, rho_for
from headcount.errors import RefusedError, UsageError
from headcount.events.user_table import read_people
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.rankings.request import RankRequest
from headcount.methods.request import request_of
from headcount.run.curator import Curator
from headcount.run.prepare import prepare_request
from headcount.run.withhold import WithheldError, withhold_errors
from tests.contracts.support.engine_checks import Torn

DELTA = Decimal("1e-6")


@pytest.fixture(autouse=True)
def _no_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[hc.Ledger]:
    with hc.Ledger(
        f"sqlite:///{tmp_path}/headcount.db", key=tmp_path / "key", anchor=tmp_path / "anchor"
    ) as opened:
        opened.create("town", "3", delta="1e-5")
        yield opened


def log(*, items: Any = ("rye", "tea"), contexts: bool = False) -> hc.EventLog:
    records = [("ann", "tea", "Mon"), ("bob", "rye", "Tue")]
    listed = None if items is None else list(items)
    return hc.EventLog.of(records, items=listed, contexts=["Mon", "Tue"] if contexts else None)


def test_published_when_first_saved(ledger: hc.Ledger, tmp_path: Path) -> None:
    account = {"ledger": ledger, "dataset": "town@1", "analyst": "ann"}
    release = hc.release(log(), epsilon="1", method="sra", limit=1, **account)  # type: ignore[arg-type]
    assert ledger.show("town").open == 1
    release.save(tmp_path / "a")
    release.save(tmp_path / "b")
    assert (ledger.show("town").open, ledger.show("town").issued) == (0, 1)
    assert [entry.folder for entry in ledger.history() if entry.kind == "publish"] == [str(tmp_path / "a")]
    free = hc.release(log(), epsilon="1.0", method="sra", limit=1, **account)  # type: ignore[arg-type]
    assert free == hc.load(tmp_path / "a")
    assert free.earlier is not None
    free.save(tmp_path / "c")
    assert (tmp_path / "c" / "release.json").read_bytes() == (tmp_path / "a" / "release.json").read_bytes()
    assert ledger.show("town").left == 2
    fresh = hc.release(log(), epsilon="1", method="sra", limit=1, again=True, **account)  # type: ignore[arg-type]
    assert fresh.ledger != release.ledger
    assert ledger.show("town").left == 1
    assert ledger.verify(
        [(entry.ledger["entry"], entry.ledger["head"]) for entry in (release, fresh) if entry.ledger]
    ).ok


def test_rankings_are_charged(ledger: hc.Ledger) -> None:
    hc.rank(log(), k=1, epsilon="0.5", ledger=ledger, dataset="town")
    assert ledger.show("town").left == Decimal("2.5")
    with pytest.raises(RefusedError, match=r"town has spent ε = 0\.5 of 3"):
        hc.rank(log(), k=1, epsilon="2.6", ledger=ledger, dataset="town")


def test_a_release_is_dated_by_its_request_not_by_the_end_of_the_run(
    ledger: hc.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headcount.run.curator.moment", lambda: "2026-03-06T10:00:00+00:00")
    release = hc.release(log(), epsilon="0.1", ledger=ledger, dataset="town")
    assert release.created == "2026-03-06T10:00:00+00:00"


def test_warnings_are_withheld_whichever_thread_ends_first() -> None:
    """The second one begins while the first is inside, and warns when that one has left."""
    begun, both, left = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert both.wait(9)

    def first() -> None:
        withhold_errors(wait)
        left.set()

    def warn() -> None:
        both.set()
        assert left.wait(9)
        warnings.warn("the value is 42", stacklevel=1)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        with ThreadPoolExecutor(2) as threads:
            first_result = threads.submit(first)
            assert begun.wait(9)
            threads.submit(withhold_errors, warn).result()
            first_result.result()
        assert not heard
        assert warnings.filters == before


def test_a_fault_in_the_data_is_withheld(ledger: hc.Ledger) -> None:
    table = pa.table({"user": ["ann", "bob"], "item": ["tea", "rye"]})
    bad = replace(hc.read_events(table, user="user", item="item", items=["rye", "tea"]), source=Torn(table))
    with pytest.raises(WithheldError, match="the release failed after the data was opened") as caught:
        hc.release(bad, epsilon="1", ledger=ledger, dataset="town")
    assert_tells_nothing(caught.value, "ann", "torn")
    assert (ledger.show("town").open, ledger.show("town").left) == (1, Decimal(2))


def assert_tells_nothing(error: BaseException, *secrets: str) -> None:
    """Nothing of what went wrong can be reached from an error, or is printed with it."""
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not getattr(error, "__notes__", [])
    printed = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    inner = [frame for frame in frames if "/headcount/" in frame.f_code.co_filename]
    assert inner[-1].f_code.co_name == "withhold_errors", "the frames where it went wrong are still there"
    held = [value for frame in inner for value in frame.f_locals.values()]
    assert not any(isinstance(held_object, BaseException | pa.RecordBatch) for held_object in held)
    for secret in secrets:
        assert secret not in printed


def test_a_failure_and_a_warning_leave_no_trace(
    ledger: hc.Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        warnings.warn("ann is hiv positive", RuntimeWarning, stacklevel=1)
        try:
            raise ValueError("ann is hiv positive")
        except ValueError as error:
            raise KeyError("ann again") from error

    monkeypatch.setattr(Curator, "_run", broken)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(WithheldError) as caught:
            hc.release(log(), epsilon="1", ledger=ledger, dataset="town")
    assert warned == []
    assert caplog.records == []
    assert_tells_nothing(caught.value, "ann", "hiv")


def test_a_session_tells_no_more(ledger: hc.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from headcount.methods.queries.private_multiplicative_weights import Mediator

    table = pa.table({"id": ["ann", "bob"], "age": [20, 30]})
    people = read_people(table, user="id")
    ask: dict[str, Any] = {"epsilon": "1", "bins": {"age": {"edges": [0, 25, 50]}}}
    session = hc.QuerySession(people, **ask, ledger=ledger, dataset="town")

    def broken(*_: Any) -> None:
        raise ValueError("ann is 20")

    monkeypatch.setattr(Mediator, "_replies", broken)
    with pytest.raises(WithheldError) as caught:
        session.ask("SELECT COUNT(*) FROM people")
    assert_tells_nothing(caught.value, "ann")
    assert session.left == 0
    monkeypatch.setattr(Mediator, "__init__", broken)
    with pytest.raises(WithheldError) as caught:
        hc.QuerySession(people, **ask, ledger=ledger, dataset="town")
    assert_tells_nothing(caught.value, "ann")


@pytest.mark.parametrize("option", [{"delimiter": ";"}, {"encoding": "latin-1"}, {"header": False}])
def test_how_text_is_read_is_part_of_a_request(ledger: hc.Ledger, tmp_path: Path, option: dict[str, Any]) -> None:
    """Another delimiter makes other columns: the earlier release is no answer."""
    file = tmp_path / "events.csv"
    file.write_text("1,2,a;1;2;b\nann,tea,x;bob;rye;y\n")
    account: dict[str, Any] = {"ledger": ledger, "dataset": "town", "epsilon": "1", "method": "sra", "limit": 1}
    plain, other = (
        hc.read_events(file, user="1", item="2", items=["rye", "tea"], **options) for options in ({}, option)
    )
    hc.release(plain, **account).save(tmp_path / "first")
    assert hc.release(plain, **account).earlier is not None
    assert hc.release(other, **account).earlier is None
    assert ledger.show("town").left == 1


def test_a_ledger_by_its_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
        monkeypatch.delenv(name, raising=False)
    url = f"sqlite:///{tmp_path}/own.db"
    with hc.Ledger(url) as ledger:
        ledger.create("town", "3")
    first = hc.release(log(), epsilon="1", ledger=url, dataset="town")
    monkeypatch.setenv("HEADCOUNT_LEDGER", url)
    second = hc.rank(log(), k=1, epsilon="1", dataset="town")
    for number, release in enumerate((first, second)):
        release.save(tmp_path / str(number))
    with hc.Ledger(url) as ledger:
        assert (ledger.show("town").issued, ledger.show("town").left) == (2, Decimal(1))
    with pytest.raises(UsageError, match="a ledger needs dataset="):
        hc.release(log(), epsilon="1")


def test_what_is_not_a_ledger() -> None:
    wrong: Any = 7
    with pytest.raises(UsageError, match="ledger must be"):
        hc.release(log(), epsilon="1", ledger=wrong, dataset="town")
    with pytest.raises(UsageError, match="again=True is given without a ledger"):
        hc.release(log(), epsilon="1", again=True)


# Costs


def test_pure_requests_cost_their_epsilon() -> None:
    for request in (request_of(ReleaseRequest, epsilon="0.7"), request_of(RankRequest, epsilon="0.7", k=1)):
        charge = prepare_request(request, log()).charge
        assert (charge.epsilon, charge.delta, charge.rho, charge.slack) == (
            Decimal("0.7"),
            Decimal(0),
            None,
            Decimal(0),
        )


@pytest.mark.parametrize(("method", "limit"), [("sra", 1), ("lpa", 1), ("hpa", 1), ("adaptive", None)])
@pytest.mark.parametrize("contexts", [False, True])
def test_gaussian_noise_costs_its_rho(method: str, limit: int | None, contexts: bool) -> None:
    town = replace(log(contexts=contexts), counting="users")
    request = request_of(ReleaseRequest, epsilon="1", delta="1e-6", method=method, limit=limit, noise="gaussian")
    charge = prepare_request(request, town).charge
    assert (charge.delta, charge.slack) == (DELTA, Decimal(0))
    assert charge.rho is not None
    assert charge.rho <= pure_rho(Decimal(1)) / 4
    if method in ("sra", "lpa"):  # items and edges share one ρ: what they cost is what is promised
        assert charge.rho == rho_for(Decimal(1), DELTA)
    assert Decimal("0.9") < charge.epsilon <= Decimal(1)


def test_one_gaussian_table_costs_its_calibrated_rho() -> None:
    request = request_of(ReleaseRequest, epsilon="1", delta="1e-6", method="sra", limit=1, noise="gaussian")
    assert prepare_request(request, log()).charge.rho == rho_for(Decimal(1), DELTA)


def test_the_delta_of_a_selection_is_slack() -> None:
    town = log(items=None)
    request = request_of(ReleaseRequest, epsilon="1", delta="1e-6")
    charge = prepare_request(request, town).charge
    assert (charge.epsilon, charge.delta, charge.slack) == (Decimal(1), DELTA, DELTA)
    assert charge.rho == pure_rho(Decimal("0.2")) + pure_rho(Decimal("0.8"))
    both = request_of(ReleaseRequest, epsilon="1", delta="1e-6", noise="gaussian", method="sra", limit=1)
    charge = prepare_request(both, town).charge
    assert charge.slack == DELTA / 2
    assert charge.rho == pure_rho(Decimal("0.2")) + rho_for(Decimal("0.8"), DELTA / 2)


def test_a_zcdp_budget_takes_many_gaussian_requests(tmp_path: Path) -> None:
    with hc.Ledger(f"sqlite:///{tmp_path}/z.db", key=tmp_path / "key", anchor=tmp_path / "anchor") as ledger:
        ledger.create("town", "3", delta="1e-6", filter="zcdp")
        for _ in range(5):  # their ε sums to 5
            hc.release(
                log(), epsilon="1", delta="1e-6", method="sra", limit=1, noise="gaussian", ledger=ledger,
                dataset="town",
            )  # fmt: skip
        assert ledger.show("town").epsilon < 3


# What is the same


def test_defaults_are_spelled_out() -> None:
    plain, spelled = (
        request_of(ReleaseRequest, epsilon=e, method=m) for e, m in (("1.00", None), (1, "adaptive"))
    )
    assert prepare_request(plain, log()).identity() == prepare_request(spelled, log()).identity()
    identity = json.loads(prepare_request(plain, log()).identity()[0])
    assert (identity["method"], identity["epsilon"], identity["parameters"]["noise"]) == (
        "adaptive",
        "1",
        "laplace",
    )


def test_a_cap_that_was_not_given_changes_nothing() -> None:
    """Requests of before there was one are the same as now, and paid for; with a cap it is another release."""
    plain, capped = (request_of(ReleaseRequest, epsilon="1", **more) for more in ({}, {"at_most": 9}))
    parameters, other = (
        json.loads(prepare_request(request, log()).identity()[0])["parameters"] for request in (plain, capped)
    )
    assert set(parameters) == {"integers", "lean", "limit", "noise", "shares", "what"}
    assert other == {**parameters, "at_most": 9}


def test_what_differs() -> None:
    same = {"epsilon": "1", "method": "sra", "limit": 1}
    town = log(contexts=True)
    requests = [
        (request_of(ReleaseRequest, **same), town),
        (request_of(ReleaseRequest, **same), log()),
        (request_of(ReleaseRequest, **same), log(items=["tea"], contexts=True)),
        (request_of(ReleaseRequest, **same, what="items"), town),
        (request_of(ReleaseRequest, **same, shares={"items": "0.4", "edges": "0.6"}), town),
        (request_of(ReleaseRequest, **{**same, "limit": 2}), town),
        (request_of(RankRequest, epsilon="1", k=1), town),
        (request_of(ReleaseRequest, **same, delta="1e-6"), log(items=None)),
        (request_of(ReleaseRequest, **same, delta="1e-6", select_limit=3), log(items=None)),
    ]
    assert len({prepare_request(*arguments).identity() for arguments in requests}) == len(requests)
