"""Privacy budgets: open a dataset with one, verify the ledger; amounts and journal entries as pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

from headcount.accounting.charges import plain
from headcount.ledger import Account
from headcount.ledger.journal.entries import Entry, describe_entry
from headcount.studio import forms
from headcount.studio.access import Visitor, check_curator
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import Studio


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
    fullest = max(account.windows, key=lambda window: window.epsilon, default=account)
    total = fullest.most if fullest.most.is_finite() else account.budget.epsilon
    where = f" {fullest.dates}" if fullest.dates else ""
    window = f" in each window of {account.budget.windows}" if account.budget.windows else ""
    left = max(total - fullest.epsilon, Decimal(0))
    words = f"ε = {plain(fullest.epsilon)} of {plain(total)} spent{where or window}, {plain(left)} left"
    return Gauge(plain(fullest.epsilon), plain(total), words)


def is_exhausted(account: Account | None) -> bool:
    """Say whether nothing is left to be spent; with windows, each has its own budget."""
    return account is None or (account.left <= 0 and account.budget.windows is None)


def budget_overview(studio: Studio, visitor: Visitor) -> list[tuple[Dataset, Gauge | None]]:
    """Return the datasets that the visitor sees, with gauges of their budgets."""
    return [
        (dataset, gauge(studio.datasets.account(visitor, dataset.id)))
        for dataset in studio.datasets.listed(visitor)
    ]


def open_dataset(studio: Studio, visitor: Visitor, dataset: str, sent: forms.Posted) -> None:
    """Open a dataset with the budget of a form; one that has its budget is opened again."""
    check_curator(visitor)
    has_budget = studio.datasets.account(visitor, dataset) is not None
    amounts = {} if has_budget else forms.read_posted(forms.budget_fields(), sent)
    studio.datasets.open(visitor, dataset, **amounts)


def verify_ledger(studio: Studio, visitor: Visitor) -> Any:
    """Verify the whole journal of the ledger, and note it in the audit log."""
    check_curator(visitor)
    verification = studio.ledger.verify()
    studio.audit_log.note(visitor, "verified the ledger", ok=verification.ok)
    return verification


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
