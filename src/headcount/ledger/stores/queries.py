"""SQL statements of the ledger, one function each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from headcount.accounting.charges import Spent, plain
from headcount.errors import UsageError
from headcount.ledger.balances import Balance, BalanceKey
from headcount.ledger.composition import Budget
from headcount.ledger.journal.anchor import Mark
from headcount.ledger.journal.entries import Entry, Signed, canonical
from headcount.ledger.journal.verify import Outcome, Replay, Stored
from headcount.ledger.stores.transactions import Transaction


def name(run: Transaction) -> tuple[str, str]:
    """Return the journal's name, and which key signs it."""
    row = run.first_row("SELECT chain, key_id FROM headcount_ledger")
    return row[0], row[1]


def head(run: Transaction) -> Mark | None:
    """Return the last entry's number and MAC."""
    row = run.first_row("SELECT number, mac FROM journal ORDER BY number DESC LIMIT 1")
    return None if row is None else Mark(*row)


def mac(run: Transaction, number: int) -> str | None:
    """Return an entry's MAC."""
    row = run.first_row("SELECT mac FROM journal WHERE number = :number", number=number)
    return None if row is None else str(row[0])


def entry(run: Transaction, number: int) -> Entry:
    """Return an entry that is there."""
    row = run.first_row("SELECT body FROM journal WHERE number = :number", number=number)
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
            {
                "number": journal_entry.number,
                "dataset": journal_entry.dataset,
                "body": signed.text,
                "mac": signed.mac,
            }
            for journal_entry, signed in entries
        ],
    )


def datasets(run: Transaction) -> tuple[str, ...]:
    """Return the names of all datasets."""
    return tuple(row[0] for row in run.all("SELECT name FROM datasets ORDER BY name"))


def budget(run: Transaction, dataset: str) -> Budget | None:
    """Return a dataset's budget, if it has one."""
    row = run.first_row("SELECT budget FROM datasets WHERE name = :name", name=dataset)
    return None if row is None else Budget.from_json(json.loads(row[0]))


def add_dataset(run: Transaction, dataset: str, amounts: Budget) -> None:
    """Store a dataset's budget."""
    text = canonical(amounts.to_json())
    run.run("INSERT INTO datasets (name, budget) VALUES (:name, :budget)", name=dataset, budget=text)


_ALLOWED = "SELECT analyst, epsilon FROM allowances WHERE dataset = :dataset"


def allowances(run: Transaction, dataset: str, analyst: str | None = None) -> dict[str, Decimal]:
    """Return what analysts may spend who have an amount of their own: all of a dataset, or one."""
    if analyst is None:
        rows = run.all(_ALLOWED, dataset=dataset)
    else:
        rows = run.all(f"{_ALLOWED} AND analyst = :analyst", dataset=dataset, analyst=analyst)
    return {who: Decimal(epsilon) for who, epsilon in rows}


def save_allowance(run: Transaction, dataset: str, analyst: str, epsilon: Decimal) -> None:
    """Store what an analyst may spend."""
    run.run(
        "INSERT INTO allowances (dataset, analyst, epsilon) VALUES (:dataset, :analyst, :epsilon) "
        "ON CONFLICT (dataset, analyst) DO UPDATE SET epsilon = excluded.epsilon",
        dataset=dataset,
        analyst=analyst,
        epsilon=plain(epsilon),
    )


_ALL_TIME = "SELECT analyst, NULL, loss, delta, open, published, refunded FROM accounts WHERE dataset = :dataset"
_WINDOWS = "SELECT analyst, number, loss, delta, open, published, refunded FROM windows WHERE dataset = :dataset"
_MINE = " AND analyst IN ('', :analyst)"


def balances(run: Transaction, dataset: str) -> dict[BalanceKey, Balance]:
    """Return all balances of a dataset."""
    return _balances(run.all(_ALL_TIME, dataset=dataset) + run.all(_WINDOWS, dataset=dataset))


def balances_for(run: Transaction, dataset: str, analyst: str, windows: range) -> dict[BalanceKey, Balance]:
    """Return the balances of an analyst and of everybody, in all time and in some windows."""
    rows = run.all(_ALL_TIME + _MINE, dataset=dataset, analyst=analyst)
    if windows:
        between = " AND number BETWEEN :first AND :last"
        parameters = {"dataset": dataset, "analyst": analyst, "first": windows[0], "last": windows[-1]}
        rows += run.all(_WINDOWS + _MINE + between, **parameters)
    return _balances(rows)


def _balances(rows: Iterable[Any]) -> dict[BalanceKey, Balance]:
    return {
        BalanceKey(analyst, number): Balance(Spent(Decimal(loss), Decimal(delta)), *counts)
        for analyst, number, loss, delta, *counts in rows
    }


_SAVE_ALL_TIME = (
    "INSERT INTO accounts (dataset, analyst, loss, delta, open, published, refunded) "
    "VALUES (:dataset, :analyst, :loss, :delta, :open, :published, :refunded) "
    "ON CONFLICT (dataset, analyst) DO UPDATE SET loss = excluded.loss, delta = excluded.delta, "
    "open = excluded.open, published = excluded.published, refunded = excluded.refunded"
)
_SAVE_WINDOWS = (
    "INSERT INTO windows (dataset, number, analyst, loss, delta, open, published, refunded) "
    "VALUES (:dataset, :number, :analyst, :loss, :delta, :open, :published, :refunded) "
    "ON CONFLICT (dataset, number, analyst) DO UPDATE SET loss = excluded.loss, delta = excluded.delta, "
    "open = excluded.open, published = excluded.published, refunded = excluded.refunded"
)


def save_balances(run: Transaction, dataset: str, changed: Mapping[BalanceKey, Balance]) -> None:
    """Store balances."""
    rows: dict[str, list[dict[str, Any]]] = {_SAVE_ALL_TIME: [], _SAVE_WINDOWS: []}
    for (analyst, window), balance in changed.items():
        amounts = zip(("loss", "delta", "open", "published", "refunded"), balance.row(), strict=True)
        row = {"dataset": dataset, "analyst": analyst, **dict(amounts)}
        if window is None:
            rows[_SAVE_ALL_TIME].append(row)
        else:
            rows[_SAVE_WINDOWS].append(row | {"number": window})
    for save, rows_of_statement in rows.items():
        if rows_of_statement:
            run.run_many(save, rows_of_statement)


def outcome(run: Transaction, reservation: int) -> Outcome | None:
    """Return how a reservation ended, if it did."""
    row = run.first_row(
        "SELECT entry, identity, folder, digest FROM outcomes WHERE reservation = :number", number=reservation
    )
    return None if row is None else Outcome(*row)


def add_outcome(run: Transaction, reservation: int, outcome: Outcome) -> None:
    """Store how a reservation ended."""
    run.run_many(_ADD_OUTCOME, [_outcome_row(reservation, outcome)])


_ADD_OUTCOME = (
    "INSERT INTO outcomes (reservation, entry, identity, folder, digest) "
    "VALUES (:reservation, :entry, :identity, :folder, :digest)"
)


def _outcome_row(reservation: int, outcome: Outcome) -> dict[str, object]:
    return {"reservation": reservation, **outcome._asdict()}


def issued(run: Transaction, identity: str) -> tuple[int, str, str] | None:
    """Return entry, folder and digest of what was last issued for a request."""
    row = run.first_row(
        "SELECT entry, folder, digest FROM outcomes WHERE identity = :identity ORDER BY entry DESC LIMIT 1",
        identity=identity,
    )
    return None if row is None else (row[0], row[1], row[2])


def stored(run: Transaction) -> Stored:
    """Return everything that is stored beside the journal, as it is."""
    rows = run.all("SELECT dataset, analyst, NULL, loss, delta, open, published, refunded FROM accounts")
    rows += run.all("SELECT dataset, analyst, number, loss, delta, open, published, refunded FROM windows")
    outcomes = run.all("SELECT reservation, entry, identity, folder, digest FROM outcomes")
    return Stored(
        dict(map(tuple, run.all("SELECT name, budget FROM datasets"))),
        {(row[0], BalanceKey(row[1], row[2])): tuple(row[3:]) for row in rows},
        {row[0]: Outcome(*row[1:]) for row in outcomes},
        {(row[0], row[1]): row[2] for row in run.all("SELECT dataset, analyst, epsilon FROM allowances")},
    )


def restore(run: Transaction, replay: Replay) -> None:
    """Store everything that follows from an imported journal."""
    for dataset, balances in replay.datasets.items():
        add_dataset(run, dataset, balances.budget)
        save_balances(run, dataset, balances.by_key)
        for analyst, epsilon in balances.allowances.items():
            save_allowance(run, dataset, analyst, epsilon)
    if replay.outcomes:
        run.run_many(_ADD_OUTCOME, [_outcome_row(*outcome_item) for outcome_item in replay.outcomes.items()])
