"""Privacy budgets as pages show them: amounts spent, and the entries of the ledger's journal."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from headcount.accounting.charges import plain
from headcount.ledger import Account
from headcount.ledger.journal.entries import Entry, describe_entry


class Gauge(NamedTuple):
    """How much of a budget is spent."""

    spent: str
    total: str
    words: str


class JournalLine(NamedTuple):
    """An entry of the journal."""

    number: int
    time: str
    kind: str
    analyst: str
    about: str


_KINDS = {
    "create": "budget made",
    "reserve": "charged",
    "publish": "released",
    "refund": "given back",
    "allow": "allowed",
}


def gauge(account: Account | None) -> Gauge | None:
    """Return the gauge of an account; where the budget has windows, of the fullest; None if there is no budget."""
    if account is None:
        return None
    fullest = max(account.windows, key=lambda each: each.epsilon, default=account)
    total = fullest.most if fullest.most.is_finite() else account.budget.epsilon
    where = f" {fullest.dates}" if fullest.dates else ""
    window = f" in each window of {account.budget.windows}" if account.budget.windows else ""
    left = max(total - fullest.epsilon, Decimal(0))
    words = f"ε = {plain(fullest.epsilon)} of {plain(total)} spent{where or window}, {plain(left)} left"
    return Gauge(plain(fullest.epsilon), plain(total), words)


def journal_lines(entries: Iterable[Entry]) -> list[JournalLine]:
    """Return the journal for a page, the newest first."""
    return [
        JournalLine(
            entry.number,
            entry.time[:19].replace("T", " "),
            _KINDS.get(entry.kind, entry.kind),
            entry.analyst or "",
            f"entry {entry.reservation}" if entry.kind == "publish" else describe_entry(entry, folders=False),
        )
        for entry in reversed(list(entries))
    ]
