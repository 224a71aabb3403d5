"""What every store must do: the same suite on real SQLite and real PostgreSQL."""

from __future__ import annotations

import json
import stat
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from headcount.accounting.zcdp import rho_for
from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.ledger import Account, Charge, Issued, Ledger, Reservation
from tests.support.ledger_stores import KINDS, NewPlace, Place, cost, reserve, spend


@pytest.fixture
def ledger(place: Place) -> Ledger:
    opened = place.open()
    opened.create("visits", "3", per_analyst="2")
    return opened


def test_spending_is_counted_for_the_dataset_and_the_analyst(ledger: Ledger) -> None:
    spend(ledger, "0.5", analyst="ann")
    spend(ledger, "0.25", analyst="bob")
    account = ledger.show("visits")
    assert (account.epsilon, account.left) == (Decimal("0.75"), Decimal("2.25"))
    assert {analyst.analyst: analyst.left for analyst in account.analysts} == {
        "ann": Decimal("1.5"),
        "bob": Decimal("1.75"),
    }
    assert (account.open, account.issued, account.refunded) == (0, 2, 0)
    assert ledger.verify().ok


def test_what_is_not_there_is_not_spent(ledger: Ledger) -> None:
    spend(ledger, "2", analyst="ann")
    with pytest.raises(RefusedError, match="ann on visits has spent ε = 2 of 2") as refused:
        reserve(ledger, "0.0001", analyst="ann")
    assert refused.value.exit_code == 1
    with pytest.raises(RefusedError, match="visits has spent ε = 2 of 3"):
        reserve(ledger, "1.1", analyst="bob")
    spend(ledger, "1", analyst="bob")
    assert ledger.show("visits").left == 0
    assert ledger.verify().ok


def test_versions_share_one_budget(ledger: Ledger) -> None:
    spend(ledger, "1.5", version="w1", analyst="ann")
    spend(ledger, "1.5", version="w2", analyst="bob")
    with pytest.raises(RefusedError):
        reserve(ledger, "0.1", version="w3", analyst="eve")


def test_the_same_request_is_free_once_published(ledger: Ledger) -> None:
    charge = cost("0.5")
    first = ledger.reserve("visits", "w1", "ann", '{"k": 10, "a": 1}', "c1", charge)
    assert isinstance(first, Reservation)
    while_open = ledger.reserve("visits", "w1", "ann", '{"k": 10, "a": 1}', "c1", charge)
    assert isinstance(while_open, Reservation)  # not published yet: charged
    first.data_read()
    published = first.issue("here/", "digest")
    again = ledger.reserve("visits", "w1", "bob", '{"a":1,"k":10}', "c1", charge)
    assert again == published == Issued(4, "here/", "digest")
    assert ledger.issued("visits", "w1", '{"a":1,"k":10}', "c1") == published
    for version, request, catalogue in (("w2", '{"a":1,"k":10}', "c1"), ("w1", '{"k":11}', "c1")):
        assert isinstance(ledger.reserve("visits", version, "ann", request, catalogue, cost("0.1")), Reservation)
    assert isinstance(ledger.reserve("visits", "w1", "ann", '{"a":1,"k":10}', "c2", cost("0.1")), Reservation)
    assert isinstance(ledger.reserve("visits", None, "ann", '{"a":1,"k":10}', "c1", cost("0.1")), Reservation)
    assert ledger.show("visits").epsilon == Decimal("1.4")


def test_again_is_charged_and_the_latest_release_is_named(ledger: Ledger) -> None:
    options = {"request": '{"k":1}', "analyst": "ann"}
    spend(ledger, "0.5", folder="first/", **options)
    second = reserve(ledger, "0.5", again=True, **options)
    assert ledger.issued("visits", "w1", '{"k":1}', "catalogue-1") == Issued(3, "first/", "digest-1")
    second.data_read()
    second.issue("second/", "digest-2")
    assert ledger.issued("visits", "w1", '{"k":1}', "catalogue-1") == Issued(5, "second/", "digest-2")
    assert ledger.show("visits").epsilon == 1


def test_an_unpublished_reservation_stays_spent(ledger: Ledger, place: Place) -> None:
    reserve(ledger, "2").data_read()
    ledger.close()
    with place.open() as opened:
        assert opened.show("visits").epsilon == 2
        assert opened.show("visits").open == 1
        with pytest.raises(RefusedError):
            reserve(opened, "0.1")


def test_a_refund_gives_the_cost_back_and_is_recorded(ledger: Ledger) -> None:
    reserve(ledger, "2").refund("the path cannot be read")
    assert ledger.show("visits").epsilon == 0
    assert ledger.history("visits")[-1].reason == "the path cannot be read"
    spend(ledger, "2")
    assert ledger.show("visits").refunded == 1
    assert ledger.verify().ok


def test_after_data_was_read_nothing_is_refunded(ledger: Ledger) -> None:
    reservation = reserve(ledger, "1")
    reservation.data_read()
    reservation.data_read()  # harmless
    with pytest.raises(UsageError, match="before any event was read"):
        reservation.refund("a null in row 7")
    assert ledger.show("visits").epsilon == 1


def test_a_reservation_ends_once(ledger: Ledger) -> None:
    reservation = reserve(ledger, "1")
    with pytest.raises(UsageError, match="data_read"):
        reservation.issue("out/", "d")
    reservation.data_read()
    first = reservation.issue("out/", "d")
    assert reservation.issue("out/", "d") == first  # a second try of the same
    with pytest.raises(UsageError, match="already"):
        reservation.issue("elsewhere/", "d")
    with pytest.raises(UsageError):
        reservation.refund("late")
    with pytest.raises(UsageError):
        reservation.data_read()
    refunded = reserve(ledger, "1")
    refunded.refund("refused connection")
    with pytest.raises(UsageError):
        refunded.refund("twice")
    with pytest.raises(UsageError):
        refunded.data_read()
    account = ledger.show("visits")
    assert (account.epsilon, account.issued, account.refunded) == (Decimal(1), 1, 1)


def test_two_objects_cannot_end_the_same_reservation(ledger: Ledger) -> None:
    reservation = reserve(ledger, "1")
    other = Reservation(**vars(reservation))
    reservation.refund("gone")
    other.state = "reading"
    with pytest.raises(UsageError, match="already"):
        other.issue("out/", "d")
    other.state = "reserved"
    with pytest.raises(UsageError, match="already"):
        other.refund("gone")
    assert ledger.verify().ok


def test_a_budget_is_created_once(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="already"):
        ledger.create("visits", "30")
    ledger.create("clicks", "1")
    assert ledger.datasets() == ("clicks", "visits")
    assert ledger.show("visits").budget.epsilon == 3


def test_unknown_datasets_get_a_suggestion(ledger: Ledger) -> None:
    for ask in (
        lambda: ledger.show("visit"),
        lambda: ledger.history("visit"),
        lambda: reserve(ledger, "1", dataset="visit"),
    ):
        with pytest.raises(UnknownNameError, match="did you mean 'visits'"):
            ask()


def test_the_zcdp_filter_takes_many_gaussian_requests(place: Place) -> None:
    rho = rho_for(Decimal("0.3"), Decimal("1e-7"))
    charge, taken = Charge(Decimal("0.3"), Decimal("1e-7"), rho), 0
    with place.open() as ledger:
        ledger.create("visits", "1", delta="1e-6", filter="zcdp")
        while ledger.show("visits").left > Decimal("0.05"):
            reserve(ledger, charge)
            taken += 1
        with pytest.raises(RefusedError, match="which would make it"):
            reserve(ledger, charge)
        account = ledger.show("visits")
        assert taken > 3
        assert account.spent.loss == rho * taken
        assert account.epsilon <= 1
        assert ledger.verify().ok


def test_check_says_what_reserve_would_say_and_charges_nothing(ledger: Ledger) -> None:
    assert isinstance(ledger.check("visits", "ann", cost("2")), Account)
    spend(ledger, "1")
    with pytest.raises(RefusedError, match="ann on visits"):
        ledger.check("visits", "ann", cost("2"))
    assert ledger.check("visits", "bob", cost("2")).epsilon == 1


def test_the_default_analyst_is_the_user(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "wren")
    reservation = ledger.reserve("visits", None, None, "{}", "c", cost("1"))
    assert isinstance(reservation, Reservation)
    assert reservation.analyst == "wren"


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, "a ", "visits@w1", "\0"])
def test_bad_names_are_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(UsageError):
        ledger.create(name, "1")
    with pytest.raises(UsageError):
        ledger.reserve(name, None, "ann", "{}", "c", cost("1"))


@pytest.mark.parametrize("request_text", ["", "{", '{"a": NaN}', "[1,"])
def test_a_request_must_be_json(ledger: Ledger, request_text: str) -> None:
    with pytest.raises(UsageError, match="JSON"):
        ledger.reserve("visits", None, "ann", request_text, "c", cost("1"))


def test_odd_texts_survive(ledger: Ledger) -> None:
    odd = json.dumps({"a": "ünï\u0000\ud800 'quoted' \\ %s :name"})
    reservation = ledger.reserve("visits", "straße 'x'", "o'neill", odd, "c", cost("1"))
    assert isinstance(reservation, Reservation)
    reservation.data_read()
    reservation.issue("out/ü 'x'", "d")
    assert ledger.issued("visits", "straße 'x'", odd, "c") == Issued(3, "out/ü 'x'", "d")
    assert ledger.verify().ok


def test_history_tells_everything(ledger: Ledger) -> None:
    spend(ledger, "0.5")
    ledger.create("clicks", "1")
    create, reserved, published = ledger.history("visits")
    assert [entry.kind for entry in (create, reserved, published)] == ["create", "reserve", "publish"]
    assert reserved.charge == {"epsilon": "0.5", "delta": "0", "rho": None, "slack": "0"}
    assert (reserved.version, reserved.analyst, reserved.request) == ("w1", "ann", '{"k":10}')
    assert (published.reservation, published.folder, published.digest) == (2, "out/", "digest-1")
    assert create.budget == {"epsilon": "3", "delta": "0", "per_analyst": "2", "filter": "sum"}
    assert len(ledger.history()) == 4


def test_the_journal_does_not_tell_how_long_a_run_took(
    ledger: Ledger, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(f"2026-03-06T10:00:{second:02}.000+00:00" for second in range(60))
    monkeypatch.setattr("headcount.ledger.journal.journal_store.now", lambda: next(times))
    spend(ledger, "0.5")
    _, reserved, published = ledger.history("visits")
    assert published.time == reserved.time == "2026-03-06T10:00:00.000+00:00"
    exported = place.folder / "journal.jsonl"
    ledger.export(exported)
    assert "10:00:01" not in exported.read_text(encoding="utf-8")
    assert ledger.verify().ok


def test_the_key_is_private_and_outside_of_the_database(ledger: Ledger, place: Place) -> None:
    assert stat.S_IMODE(place.key.stat().st_mode) == 0o600
    assert ledger.verify().unseen == ()
    secret = place.key.read_text().strip()
    ledger.close()
    for file in place.folder.glob("headcount.db*"):
        assert secret.encode() not in file.read_bytes()


def test_without_its_key_a_ledger_can_be_read_and_not_spent(ledger: Ledger, place: Place) -> None:
    spend(ledger, "1")
    ledger.close()
    secret = place.key.read_text()
    place.key.unlink()
    with place.open() as opened:
        assert opened.show("visits").epsilon == 1
        with pytest.raises(UsageError, match="key of this ledger is not at"):
            reserve(opened, "1")
        with pytest.raises(UsageError, match="key of this ledger is not at"):
            opened.create("more", "1")
        assert not place.key.exists()
        verification = opened.verify()
        assert verification.ok
        assert "the key is not at" in verification.unseen[0]
    place.key.write_text("0" * 64)
    place.key.chmod(0o600)
    with place.open() as opened:
        with pytest.raises(UsageError, match="not the one that this ledger was made with"):
            reserve(opened, "1")
        assert not opened.verify().ok
    place.key.write_text(secret)
    with place.open() as opened:
        assert opened.verify().ok


def test_without_an_anchor_verify_says_what_it_could_not_see(ledger: Ledger, place: Place) -> None:
    place.anchor.unlink()
    ledger.close()
    with place.open() as opened:
        verification = opened.verify()
        assert verification.ok
        assert "there is no anchor" in verification.unseen[0]
        spend(opened, "1")
        assert opened.verify().unseen == ()


def test_the_anchor_is_written_before_data_is_read(ledger: Ledger, place: Place) -> None:
    reservation = reserve(ledger, "1")
    before = place.anchor.read_bytes()
    reservation.data_read()
    assert reservation.head.encode() not in before
    assert reservation.head.encode() in place.anchor.read_bytes()
    assert reservation.to_json() == {"entry": 2, "head": reservation.head}


@pytest.mark.parametrize("other", KINDS)
def test_a_journal_moves_to_another_store(ledger: Ledger, place: Place, new_place: NewPlace, other: str) -> None:
    spend(ledger, "0.5", analyst="ann")
    reserve(ledger, "0.25", analyst="bob")
    reserve(ledger, "0.25", analyst="eve").refund("no file")
    target, lines = new_place(other), place.folder / "journal.jsonl"
    assert ledger.export(lines) == 6
    with pytest.raises(UsageError, match="exists already"):
        ledger.export(lines)
    moved = target.open(like=place)
    assert moved.import_(lines) == 6
    assert moved.show("visits") == ledger.show("visits")
    assert moved.history() == ledger.history()
    assert moved.verify().sentences() == ("6 entries, no problem found.",)
    assert isinstance(moved.issued("visits", "w1", '{"k":10}', "catalogue-1"), Issued)
    again = place.folder / "again.jsonl"
    moved.export(again)
    assert again.read_bytes() == lines.read_bytes()
    with pytest.raises(UsageError, match="already"):
        moved.import_(lines)
    spend(moved, "0.5", analyst="ann")
    with pytest.raises(RefusedError, match="anchored"):  # the old place has been left behind
        spend(ledger, "0.5", analyst="ann")


def test_an_incomplete_journal_is_not_imported(ledger: Ledger, place: Place, new_place: NewPlace) -> None:
    spend(ledger, "0.5")
    lines = place.folder / "journal.jsonl"
    ledger.export(lines)
    whole = lines.read_text().splitlines()
    edited = whole[1].replace('"epsilon":"0.5"', '"epsilon":"0.1"')
    for bad in (whole[:2], whole[1:], [whole[0], whole[2]], [whole[0], edited, whole[2]], [*whole, whole[2]]):
        lines.write_text("\n".join(bad) + "\n")
        target = new_place("sqlite").open(like=place)
        with pytest.raises(RefusedError):
            target.import_(lines)
        with pytest.raises(UsageError, match="no ledger"):
            target.show("visits")


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    granted: list[int] = []

    def ask() -> None:
        for _ in range(10):
            try:
                spend(ledger, "0.1", analyst=threading.current_thread().name)
                granted.append(1)
            except RefusedError:
                pass

    threads = [threading.Thread(target=ask, name=f"t{number}") for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 30
    assert ledger.show("visits").left == 0
    assert ledger.verify().ok


def test_reading_a_ledger_creates_nothing(place: Place) -> None:
    with place.open() as opened:
        for ask in (opened.datasets, opened.verify, opened.history):
            with pytest.raises(UsageError, match="there is no ledger"):
                ask()
        with pytest.raises(UsageError, match="there is no ledger"):
            reserve(opened, "1")
    assert not place.key.exists()
    assert not Path(place.folder / "headcount.db").exists()
