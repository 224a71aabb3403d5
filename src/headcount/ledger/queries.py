"""The ledger's questions to its database, one function each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from headcount.errors import UsageError
from headcount.ledger.accounting import Budget, Spent
from headcount.ledger.anchor import Mark
from headcount.ledger.journal import Entry, Signed, canonical
from headcount.ledger.transactions import Transaction
from headcount.ledger.verifying import Balance, Replay, Stored

Ended = tuple[int, str | None, str | None, str | None]


class Ending(NamedTuple):
    """How a reservation ended: by which entry, and what was issued."""

    entry: int
    identity: str | None
    folder: str | None
    digest: str | None


def name(run: Transaction) -> tuple[str, str]:
    """Return the journal's name, and which key signs it."""
    row = run.one("SELECT chain, key_id FROM headcount_ledger")
    return row[0], row[1]


def head(run: Transaction) -> Mark | None:
    """Return the last entry's number and MAC."""
    row = run.one("SELECT number, mac FROM journal ORDER BY number DESC LIMIT 1")
    return None if row is None else Mark(*row)


def mac(run: Transaction, number: int) -> str | None:
    """Return an entry's MAC."""
    row = run.one("SELECT mac FROM journal WHERE number = :number", number=number)
    return None if row is None else str(row[0])


def entry(run: Transaction, number: int) -> Entry:
    """Return an entry that is there."""
    row = run.one("SELECT body FROM journal WHERE number = :number", number=number)
    if row is None:
        raise UsageError(f"this ledger has no entry {number}", remedy="run `headcount ledger verify`")
    return Entry.from_text(row[0])


def journal(run: Transaction, dataset: str | None = None) -> Iterator[tuple[int, str, Signed]]:
    """Return number, dataset and signed text of all entries, or of one dataset's."""
    columns = "SELECT number, dataset, body, mac FROM journal"
    if dataset is None:
        rows = run.walk(f"{columns} ORDER BY number")
    else:
        rows = run.walk(f"{columns} WHERE dataset = :dataset ORDER BY number", dataset=dataset)
    for number, filed, body, code in rows:
        yield number, filed, Signed(body, code)


def add_entries(run: Transaction, entries: Iterable[tuple[Entry, Signed]]) -> None:
    """Append to the journal."""
    run.run_many(
        "INSERT INTO journal (number, dataset, body, mac) VALUES (:number, :dataset, :body, :mac)",
        [
            {"number": each.number, "dataset": each.dataset, "body": signed.text, "mac": signed.mac}
            for each, signed in entries
        ],
    )


def datasets(run: Transaction) -> tuple[str, ...]:
    """Return the names of all datasets."""
    return tuple(row[0] for row in run.all("SELECT name FROM datasets ORDER BY name"))


def budget(run: Transaction, dataset: str) -> Budget | None:
    """Return a dataset's budget, if it has one."""
    row = run.one("SELECT budget FROM datasets WHERE name = :name", name=dataset)
    return None if row is None else Budget.from_json(json.loads(row[0]))


def add_dataset(run: Transaction, dataset: str, amounts: Budget) -> None:
    """Store a dataset's budget."""
    text = canonical(amounts.to_json())
    run.run("INSERT INTO datasets (name, budget) VALUES (:name, :budget)", name=dataset, budget=text)


def balances(run: Transaction, dataset: str, analysts: tuple[str, str] | None = None) -> dict[str, Balance]:
    """Return the balances of a dataset by analyst ('' for the whole): of two, or of all."""
    columns = "SELECT analyst, loss, delta, open, published, refunded FROM accounts WHERE dataset = :dataset"
    if analysts is None:
        rows = run.all(columns, dataset=dataset)
    else:
        some = f"{columns} AND analyst IN (:first, :second)"
        rows = run.all(some, dataset=dataset, first=analysts[0], second=analysts[1])
    return {
        analyst: Balance(Spent(Decimal(loss), Decimal(delta)), *counts) for analyst, loss, delta, *counts in rows
    }


def save_balances(run: Transaction, dataset: str, changed: Mapping[str, Balance]) -> None:
    """Store balances, by analyst."""
    run.run_many(
        "INSERT INTO accounts (dataset, analyst, loss, delta, open, published, refunded) "
        "VALUES (:dataset, :analyst, :loss, :delta, :open, :published, :refunded) "
        "ON CONFLICT (dataset, analyst) DO UPDATE SET loss = excluded.loss, delta = excluded.delta, "
        "open = excluded.open, published = excluded.published, refunded = excluded.refunded",
        [
            {"dataset": dataset, "analyst": analyst}
            | dict(zip(("loss", "delta", "open", "published", "refunded"), balance.row(), strict=True))
            for analyst, balance in changed.items()
        ],
    )


def outcome(run: Transaction, reservation: int) -> Ending | None:
    """Return how a reservation ended, if it did."""
    row = run.one(
        "SELECT entry, identity, folder, digest FROM outcomes WHERE reservation = :number", number=reservation
    )
    return None if row is None else Ending(*row)


def add_outcome(run: Transaction, reservation: int, ended: Ended) -> None:
    """Store how a reservation ended."""
    run.run_many(_ADD_OUTCOME, [_outcome_row(reservation, ended)])


_ADD_OUTCOME = (
    "INSERT INTO outcomes (reservation, entry, identity, folder, digest) "
    "VALUES (:reservation, :entry, :identity, :folder, :digest)"
)


def _outcome_row(reservation: int, ended: Ended) -> dict[str, object]:
    return {"reservation": reservation, **Ending(*ended)._asdict()}


def issued(run: Transaction, identity: str) -> tuple[int, str, str] | None:
    """Return entry, folder and digest of what was last issued for a request."""
    row = run.one(
        "SELECT entry, folder, digest FROM outcomes WHERE identity = :identity ORDER BY entry DESC LIMIT 1",
        identity=identity,
    )
    return None if row is None else (row[0], row[1], row[2])


def stored(run: Transaction) -> Stored:
    """Return everything that is stored beside the journal."""
    accounts = run.all("SELECT dataset, analyst, loss, delta, open, published, refunded FROM accounts")
    outcomes = run.all("SELECT reservation, entry, identity, folder, digest FROM outcomes")
    return Stored(
        dict(map(tuple, run.all("SELECT name, budget FROM datasets"))),
        {(row[0], row[1]): tuple(row[2:]) for row in accounts},
        {row[0]: tuple(row[1:]) for row in outcomes},
    )


def restore(run: Transaction, replay: Replay) -> None:
    """Store everything that follows from an imported journal."""
    for dataset, amounts in replay.budgets.items():
        add_dataset(run, dataset, amounts)
    for (dataset, analyst), balance in replay.balances.items():
        save_balances(run, dataset, {analyst: balance})
    if replay.outcomes:
        run.run_many(_ADD_OUTCOME, [_outcome_row(*each) for each in replay.outcomes.items()])
