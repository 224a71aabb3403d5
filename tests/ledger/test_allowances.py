"""An analyst's own amount: in place of what each may spend, within the budget, and part of the journal."""

from __future__ import annotations

import json
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.ledger import Ledger
from headcount.ledger.event_time_windows import Span
from tests.support.ledger_stores import NewPlace, Place, cost, reserve, spend


@pytest.fixture
def ledger(place: Place) -> Ledger:
    opened = place.open()
    opened.create("visits", "3", per_analyst="1")
    return opened


def _own(ledger: Ledger) -> dict[str | None, tuple[Decimal, Decimal]]:
    return {analyst.analyst: (analyst.most, analyst.left) for analyst in ledger.show("visits").analysts}


def test_an_allowance_replaces_the_budget_per_analyst(ledger: Ledger) -> None:
    ledger.allow("visits", "ann", "2")
    ledger.allow("visits", "bob", "0.2")
    spend(ledger, "2", analyst="ann")
    with pytest.raises(RefusedError, match="ann on visits has spent ε = 2 of 2"):
        reserve(ledger, "0.1", analyst="ann")
    with pytest.raises(RefusedError, match=r"bob on visits has spent ε = 0 of 0\.2"):
        reserve(ledger, "0.5", analyst="bob")
    spend(ledger, "0.5", analyst="eve")  # as each may
    assert _own(ledger) == {
        "ann": (Decimal(2), Decimal(0)),
        "bob": (Decimal("0.2"), Decimal("0.2")),
        "eve": (Decimal(1), Decimal("0.5")),
    }
    assert ledger.left("visits", "bob") == Decimal("0.2")
    assert ledger.verify().ok


def test_the_budget_of_the_dataset_stays_the_limit_above_all(ledger: Ledger) -> None:
    for who in ("ann", "bob"):
        ledger.allow("visits", who, "3")
    spend(ledger, "2", analyst="ann")
    assert ledger.left("visits", "bob") == 1
    with pytest.raises(RefusedError, match="visits has spent ε = 2 of 3"):
        reserve(ledger, "1.5", analyst="bob")
    with pytest.raises(UsageError, match="more than the whole ε = 3"):
        ledger.allow("visits", "ann", "3.1")


def test_it_is_raised_and_lowered_but_never_below_what_is_spent(ledger: Ledger) -> None:
    ledger.allow("visits", "ann", "2")
    reservation = reserve(ledger, "1.5")
    with pytest.raises(RefusedError, match=r"ann has spent ε = 1\.5 on visits already; allow at least that"):
        ledger.allow("visits", "ann", "1.4")
    ledger.allow("visits", "ann", "1.5")
    with pytest.raises(RefusedError):
        reserve(ledger, "0.1")
    reservation.refund("no file")
    ledger.allow("visits", "ann", "0")
    with pytest.raises(RefusedError, match="has spent ε = 0 of 0"):
        reserve(ledger, "0.1")
    ledger.allow("visits", "ann", "0.1")
    spend(ledger, "0.1")
    assert ledger.verify().ok


@pytest.mark.parametrize("given", ["plenty", "-1", "NaN", True])
def test_what_is_no_amount_is_refused_and_nothing_is_written(ledger: Ledger, given: object) -> None:
    before = len(ledger.history())
    with pytest.raises(UsageError):
        ledger.allow("visits", "ann", given)  # type: ignore[arg-type]
    assert len(ledger.history()) == before


def test_a_dataset_without_a_budget_and_an_empty_analyst_are_refused(ledger: Ledger) -> None:
    with pytest.raises(UnknownNameError, match="visit"):
        ledger.allow("visit", "ann", "1")
    with pytest.raises(UsageError, match="the analyst must be a name"):
        ledger.allow("visits", "", "1")


def test_it_is_an_entry_that_moves_with_the_journal(place: Place, new_place: NewPlace, tmp_path: Path) -> None:
    with place.open() as ledger:
        ledger.create("visits", "3", per_analyst="1")
        ledger.allow("visits", "ann", "2")
        spend(ledger, "1.5")
        ledger.allow("visits", "ann", "1.75")
        last = ledger.history()[-1]
        assert (last.kind, last.analyst, last.budget) == ("allow", "ann", {"epsilon": "1.75"})
        ledger.export(tmp_path / "journal.jsonl")
    moved = new_place("sqlite").open(like=place)
    assert moved.import_(tmp_path / "journal.jsonl") == 5
    assert _own(moved) == {"ann": (Decimal("1.75"), Decimal("0.25"))}
    assert moved.verify().ok
    with pytest.raises(RefusedError):
        reserve(moved, "0.5")


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE allowances SET epsilon = '3'",
        "DELETE FROM allowances",
        "INSERT INTO allowances (dataset, analyst, epsilon) VALUES ('visits', 'eve', '3')",
    ],
)
def test_what_is_stored_beside_the_journal_is_verified(ledger: Ledger, tampering: str) -> None:
    ledger.allow("visits", "ann", "2")
    with ledger.store.writing() as run:
        run.run(tampering)
    assert any("does not follow from the journal" in problem for problem in ledger.verify().problems)


def test_an_edited_allowance_is_detected(ledger: Ledger) -> None:
    ledger.allow("visits", "ann", "2")
    entry = ledger.history()[-1]
    body = json.dumps(
        {**json.loads(entry.text), "budget": {"epsilon": "3"}}, sort_keys=True, separators=(",", ":")
    )
    with ledger.store.writing() as run:
        run.run("UPDATE journal SET body = :body WHERE number = :number", body=body, number=entry.number)
        run.run("UPDATE allowances SET epsilon = '3'")
    assert any("entry 2 was edited" in problem for problem in ledger.verify().problems)


def test_an_allowance_holds_in_every_window_and_in_rho(place: Place) -> None:
    ledger = place.open()
    ledger.create("visits", "1", window="1mo", time="when")
    clock = {"time": "when", "time_format": None, "timezone": None}
    march, april = (
        Span.from_json({"since": f"2026-0{month}-01", "until": f"2026-0{month + 1}-01", **clock})
        for month in (3, 4)
    )
    ledger.allow("visits", "ann", "0.5")
    for span in (march, april):
        ledger.reserve("visits", None, "ann", "{}", "c", cost("0.4"), span=span, again=True)
        with pytest.raises(RefusedError, match="ann on visits from"):
            ledger.reserve("visits", None, "ann", "{}", "c", cost("0.4"), span=span, again=True)
    with pytest.raises(RefusedError, match=r"ε = 0\.4 on visits already"):
        ledger.allow("visits", "ann", "0.3")
    ledger.allow("visits", "ann", "0.4")  # 0.8 in all, but 0.4 in each
    ledger.create("sold", "3", "1e-6", filter="zcdp")
    ledger.allow("sold", "ann", "0.5")
    reservation = reserve(ledger, "0.1", dataset="sold")
    with pytest.raises(RefusedError, match="ann on sold has spent"):
        reserve(ledger, "0.1", dataset="sold")
    reservation.refund("no file")
    ledger.allow("sold", "ann", "0")
    with pytest.raises(RefusedError, match="ann on sold has spent"):
        reserve(ledger, "0.1", dataset="sold")
    assert ledger.verify().ok


def test_an_account_is_shown_as_if_a_reservation_were_not_there(ledger: Ledger) -> None:
    spend(ledger, "0.25")
    hidden = [spend(ledger, "0.5", request="{}").entry, reserve(ledger, "0.125").entry]
    account = ledger.show("visits", without=hidden)
    assert (account.epsilon, account.issued, account.open) == (Decimal("0.25"), 1, 0)
    assert ledger.show("visits").epsilon == Decimal("0.875")


def test_a_crowd_never_spends_more_than_one_analyst_is_allowed(ledger: Ledger) -> None:
    ledger.allow("visits", "ann", "2")
    granted, refused = list[int](), list[str]()

    def ask(number: int) -> None:
        for attempt in range(6):
            try:
                granted.append(reserve(ledger, "0.25", request=json.dumps([number, attempt])).entry)
            except RefusedError as error:
                refused.append(str(error))

    crowd = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert (len(granted), len(refused)) == (8, 16)
    assert _own(ledger) == {"ann": (Decimal(2), Decimal(0))}
    assert ledger.verify().ok
