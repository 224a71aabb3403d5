"""Tampering of every kind is seen: edits, deletions (the tail included), reordering, and beside the journal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from headcount.errors import RefusedError
from headcount.ledger import Ledger
from headcount.ledger.journal.anchor import Anchor, Mark
from headcount.ledger.journal.entries import Entry, canonical
from tests.support.ledger_stores import Place, reserve, spend

Tamper = Callable[[sa.Connection], None]


def _prepared(place: Place) -> Ledger:
    ledger = place.open()
    ledger.create("visits", "3", per_analyst="2")
    ledger.create("clicks", "3")
    spend(ledger, "0.5", analyst="ann")
    spend(ledger, "0.25", analyst="bob")
    reserve(ledger, "0.125", analyst="bob").refund("no file")
    reserve(ledger, "0.125", analyst="eve").data_read()
    return ledger


def _tamper(ledger: Ledger, *statements: str) -> None:
    ledger.close()
    with ledger.store.engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    ledger.close()


def _set(field: str, old: str, new: str, number: int) -> str:
    old_text, new_text = f'"{field}":{old}', f'"{field}":{new}'
    return f"UPDATE journal SET body = replace(body, '{old_text}', '{new_text}') WHERE number = {number}".replace(
        ":", r"\:"
    )


SWAP = (
    "UPDATE journal SET number = 1000 WHERE number = 3",
    "UPDATE journal SET number = 3 WHERE number = 5",
    "UPDATE journal SET number = 5 WHERE number = 1000",
)

JOURNAL = {
    "the charge is lowered": [_set("epsilon", '"0.5"', '"0.1"', 3)],
    "the analyst is changed": [_set("analyst", '"ann"', '"bob"', 3)],
    "the time is changed": [_set("time", '"20', '"19', 4)],
    "the folder is changed": [_set("folder", '"out/"', '"in/"', 4)],
    "the budget is raised": [_set("epsilon", '"3"', '"9"', 1)],
    "the refund becomes another kind": [_set("kind", '"refund"', '"publish"', 8)],
    "the MAC is changed": [f"UPDATE journal SET mac = '{'0' * 64}' WHERE number = 4"],
    "the entry is no JSON": ["UPDATE journal SET body = 'gone' WHERE number = 4"],
    "a blank is added": ["UPDATE journal SET body = body || ' ' WHERE number = 4"],
    "the first entry is deleted": ["DELETE FROM journal WHERE number = 1"],
    "a middle entry is deleted": ["DELETE FROM journal WHERE number = 5"],
    "a deleted entry's place is taken": [
        "DELETE FROM journal WHERE number = 5",
        "UPDATE journal SET number = number - 1 WHERE number = 6",
        "UPDATE journal SET number = number - 1 WHERE number = 7",
        "UPDATE journal SET number = number - 1 WHERE number = 8",
        "UPDATE journal SET number = number - 1 WHERE number = 9",
    ],
    "the tail is deleted": ["DELETE FROM journal WHERE number = 9"],
    "a long tail is deleted": ["DELETE FROM journal WHERE number > 2"],
    "everything is deleted": ["DELETE FROM journal"],
    "two entries are swapped": SWAP,
    "an entry is repeated": [
        "INSERT INTO journal (number, dataset, body, mac) "
        "SELECT 10, dataset, body, mac FROM journal WHERE number = 8"
    ],
    "an entry is filed elsewhere": ["UPDATE journal SET dataset = 'clicks' WHERE number = 3"],
}
BESIDE = {
    "spending is forgotten": ["UPDATE accounts SET loss = '0' WHERE dataset = 'visits' AND analyst = ''"],
    "an analyst's spending is forgotten": ["DELETE FROM accounts WHERE analyst = 'bob'"],
    "an analyst is invented": ["INSERT INTO accounts VALUES ('visits', 'x', '0', '0', 0, 0, 0)"],
    "the stored budget is raised": ["UPDATE datasets SET budget = replace(budget, '\"3\"', '\"9\"')"],
    "a dataset is dropped": ["DELETE FROM datasets WHERE name = 'clicks'"],
    "a release is moved": ["UPDATE outcomes SET folder = 'elsewhere/' WHERE reservation = 3"],
    "a release is forgotten": ["DELETE FROM outcomes WHERE reservation = 3"],
    "an outcome is invented": ["INSERT INTO outcomes VALUES (9, 10, NULL, NULL, NULL)"],
}


@pytest.mark.parametrize("what", [*JOURNAL, *BESIDE])
def test_tampering_is_detected(place: Place, what: str) -> None:
    ledger = _prepared(place)
    assert ledger.verify().ok
    _tamper(ledger, *(JOURNAL | BESIDE)[what])
    verification = place.open().verify()
    assert not verification.ok
    assert verification.unseen == ()


@pytest.mark.parametrize("what", ["the tail is deleted", "a long tail is deleted", "everything is deleted"])
def test_nothing_is_charged_to_a_journal_that_lost_its_end(place: Place, what: str) -> None:
    ledger = _prepared(place)
    _tamper(ledger, *JOURNAL[what])
    with pytest.raises(RefusedError, match="lost or changed"):
        reserve(place.open(), "0.1")


def test_a_consistently_cut_tail_is_detected_by_the_anchor_alone(place: Place) -> None:
    ledger = place.open()
    ledger.create("visits", "3")
    spend(ledger, "1")
    _tamper(
        ledger,
        "DELETE FROM journal WHERE number > 1",
        "DELETE FROM outcomes",
        "DELETE FROM accounts WHERE analyst <> ''",
        "UPDATE accounts SET loss = '0', published = 0",
    )
    verification = place.open().verify()
    assert verification.problems == (
        "the journal has lost its end: the anchor has seen entry 3, and it is not there",
    )
    place.anchor.unlink()
    blind = place.open().verify()
    assert blind.ok
    assert "there is no anchor" in blind.unseen[0]


def test_a_release_is_a_witness_where_the_anchor_is_missing(place: Place) -> None:
    ledger = place.open()
    ledger.create("visits", "3")
    witness = spend(ledger, "1").to_json()
    assert ledger.verify(witnesses=[(witness["entry"], witness["head"])]).ok
    assert not ledger.verify(witnesses=[(witness["entry"], "0" * 64)]).ok
    _tamper(ledger, "DELETE FROM journal WHERE number > 1")
    place.anchor.unlink()
    problems = place.open().verify(witnesses=[(witness["entry"], witness["head"])]).problems
    assert any("the release that names entry 2 has seen entry 2" in problem for problem in problems)


def test_without_the_key_edits_are_undetected_and_verify_says_so(place: Place) -> None:
    ledger = _prepared(place)
    _tamper(ledger, _set("time", '"20', '"19', 4))
    place.key.unlink()
    verification = place.open().verify()
    assert verification.ok
    assert verification.unseen == (f"edits that keep the chain: the key is not at {place.key}",)


def test_without_the_key_deletions_are_still_detected(place: Place) -> None:
    ledger = _prepared(place)
    _tamper(ledger, *JOURNAL["a middle entry is deleted"])
    place.key.unlink()
    assert not place.open().verify().ok


def test_a_forged_entry_needs_the_key(place: Place) -> None:
    """Whoever writes the chain again without the key is found out."""
    ledger = place.open()
    ledger.create("visits", "3")
    spend(ledger, "1")
    last = ledger.history()[-1]
    forged = Entry(**{**json.loads(last.text), "number": 4, "kind": "refund", "previous": "x", "reservation": 2})
    with ledger.store.writing() as run:
        run.run(
            "INSERT INTO journal (number, dataset, body, mac) VALUES (4, 'visits', :body, :mac)",
            body=forged.text,
            mac="f" * 64,
        )
    problems = ledger.verify().problems
    assert any("entry 4 was edited, or was not written with this key" in problem for problem in problems)
    assert any("entry 4 does not follow" in problem for problem in problems)


def test_an_overspent_journal_is_detected_even_if_it_is_signed(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    spend(ledger, "1")
    _tamper(ledger, "UPDATE accounts SET loss = '0'")
    spend(sqlite_place.open(), "1")  # the account lied
    problems = sqlite_place.open().verify().problems
    assert any("entry 4 spends what was not there" in problem for problem in problems)


def test_an_edited_anchor_is_detected_and_stops_spending(sqlite_place: Place) -> None:
    ledger = _prepared(sqlite_place)
    text = sqlite_place.anchor.read_text()
    sqlite_place.anchor.write_text(text.replace('"count":9', '"count":2').replace('"count":8', '"count":1'))
    assert any("the anchor" in problem for problem in ledger.verify().problems)
    with pytest.raises(RefusedError, match="damaged"):
        reserve(ledger, "0.1")


def test_an_anchor_of_another_ledger_is_refused(sqlite_place: Place, tmp_path: Path) -> None:
    _prepared(sqlite_place)
    other = Place(f"sqlite:///{tmp_path}/other.db", tmp_path)
    ledger = other.open(like=sqlite_place)
    with pytest.raises(RefusedError, match="another ledger"):
        ledger.create("visits", "3")
    other.close()


def test_a_torn_anchor_slot_leaves_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    anchor = Anchor(path, "chain", b"key")
    for count in range(1, 6):
        anchor.advance(Mark(count, f"head-{count}"))
    anchor.close()
    data = bytearray(path.read_bytes())
    start = data.index(b'"count":5') // 512 * 512
    data[start + 100 : start + 512] = b"\0" * 412
    path.write_bytes(data)
    torn = Anchor(path, "chain", b"key")
    assert torn.read() == Mark(4, "head-4")
    torn.advance(Mark(6, "head-6"))
    assert torn.read() == Mark(6, "head-6")
    torn.close()


def test_an_old_copy_put_back_is_refused(sqlite_place: Place) -> None:
    ledger = _prepared(sqlite_place)
    ledger.close()
    file = sqlite_place.folder / "headcount.db"
    shutil.copy(file, sqlite_place.folder / "backup")
    spend(sqlite_place.open(), "0.5")
    sqlite_place.close()
    shutil.copy(sqlite_place.folder / "backup", file)
    for rest in ("-wal", "-shm"):
        Path(f"{file}{rest}").unlink(missing_ok=True)
    with pytest.raises(RefusedError, match="lost or changed"):
        reserve(sqlite_place.open(), "0.1")
    assert any("lost its end" in problem for problem in sqlite_place.open().verify().problems)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 0.95])
def test_a_truncated_write_ahead_log_is_detected_by_the_anchor(sqlite_place: Place, part: float) -> None:
    ledger = _prepared(sqlite_place)  # still open, so that the log is not folded in
    file = sqlite_place.folder / "headcount.db"
    log = Path(f"{file}-wal").read_bytes()
    assert len(log) > 20_000
    crashed = sqlite_place.folder / "crashed"
    crashed.mkdir()
    shutil.copy(file, crashed / "headcount.db")
    (crashed / "headcount.db-wal").write_bytes(log[: int(len(log) * part)])
    after = Place(f"sqlite:///{crashed}/headcount.db", crashed)
    reopened = after.open(like=sqlite_place)
    assert any("lost its end" in problem for problem in reopened.verify().problems)
    with pytest.raises(RefusedError, match="lost or changed"):
        reserve(reopened, "0.1")
    after.close()
    ledger.close()


def test_a_complete_write_ahead_log_is_fine(sqlite_place: Place) -> None:
    _prepared(sqlite_place)
    file = sqlite_place.folder / "headcount.db"
    crashed = sqlite_place.folder / "crashed"
    crashed.mkdir()
    for rest in ("", "-wal"):
        shutil.copy(f"{file}{rest}", crashed / f"headcount.db{rest}")
    after = Place(f"sqlite:///{crashed}/headcount.db", crashed)
    assert after.open(like=sqlite_place).verify().ok
    after.close()


def test_canonical_entries_alone_are_entries() -> None:
    entry = Entry(number=1, kind="create", dataset="visits", previous="x", time="now")
    assert Entry.from_text(entry.text) == entry
    for text in ("[]", "{}", "nothing", entry.text.replace(",", ", "), canonical({"number": 1})):
        with pytest.raises(Exception, match="journal entry"):
            Entry.from_text(text)
