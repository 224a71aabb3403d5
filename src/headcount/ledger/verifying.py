"""Verifying a ledger: whether its journal is whole, and everything else follows from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headcount.errors import HeadcountError, RefusedError
from headcount.ledger.accounting import Budget, Charge, Spent, plain
from headcount.ledger.anchor import Mark
from headcount.ledger.journal import Chain, Entry, Signed

_SHOWN = 20


@dataclass(frozen=True)
class Verification:
    """What was found: problems, and what could not be seen because the key or the anchor is missing."""

    entries: int
    problems: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def sentences(self) -> tuple[str, ...]:
        """Say what was found, in plain sentences."""
        found = f"{self.entries} entries, {'no problem found' if self.ok else 'problems found'}."
        problems = [f"Problem: {each}." for each in self.problems[:_SHOWN]]
        if len(self.problems) > _SHOWN:
            problems.append(f"And {len(self.problems) - _SHOWN} more problems.")
        return (found, *problems, *(f"Not seen: {each}." for each in self.unseen))

    def to_json(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        return {
            "ok": self.ok,
            "entries": self.entries,
            "problems": list(self.problems),
            "unseen": list(self.unseen),
        }


@dataclass
class Balance:
    """What an account amounts to: what was spent, and how many requests stand where."""

    spent: Spent = field(default_factory=Spent)
    open: int = 0
    issued: int = 0
    refunded: int = 0

    def row(self) -> tuple[str, str, int, int, int]:
        """Return it as it is stored."""
        return plain(self.spent.loss), plain(self.spent.delta), self.open, self.issued, self.refunded


@dataclass
class Replay:
    """The journal played through once more: budgets, balances and outcomes as they follow from it."""

    budgets: dict[str, Budget] = field(default_factory=dict)
    balances: dict[tuple[str, str], Balance] = field(default_factory=dict)
    outcomes: dict[int, tuple[int, str | None, str | None, str | None]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    _reserved: dict[int, Entry] = field(default_factory=dict)

    def play(self, entry: Entry) -> None:
        """Take in one entry."""
        try:
            getattr(self, f"_{entry.kind}", self._unknown)(entry)
        except RefusedError as error:
            self.problems.append(f"entry {entry.number} spends what was not there: {error.problem}")
        except (HeadcountError, KeyError, TypeError, ArithmeticError) as error:
            self.problems.append(f"entry {entry.number} makes no sense ({error})")

    def _unknown(self, entry: Entry) -> None:
        self.problems.append(f"entry {entry.number} is of a kind that is not known: {entry.kind}")

    def _create(self, entry: Entry) -> None:
        if entry.dataset in self.budgets:
            self.problems.append(f"entry {entry.number} creates the budget of {entry.dataset} a second time")
            return
        self.budgets[entry.dataset] = Budget.from_json(entry.budget or {})
        self.balances[entry.dataset, ""] = Balance()

    def _reserve(self, entry: Entry) -> None:
        budget, charge = self.budgets[entry.dataset], Charge.from_json(entry.charge or {})
        whole, own = self._both(entry)
        self._reserved[entry.number] = entry
        try:
            budget.check(whole.spent, own.spent, charge, dataset=entry.dataset, analyst=entry.analyst or "")
        finally:
            for balance in (whole, own):
                balance.spent += budget.price(charge)
                balance.open += 1

    def _publish(self, entry: Entry) -> None:
        reserved = self._settled(entry)
        self.outcomes[reserved.number] = (entry.number, reserved.identity, entry.folder, entry.digest)
        spent = None if entry.charge is None else Charge.from_json(entry.charge)
        left = self.budgets[reserved.dataset].left_of(Charge.from_json(reserved.charge or {}), spent)
        for balance in self._both(reserved):
            balance.spent -= left
            balance.open -= 1
            balance.issued += 1

    def _refund(self, entry: Entry) -> None:
        reserved = self._settled(entry)
        self.outcomes[reserved.number] = (entry.number, None, None, None)
        price = self.budgets[reserved.dataset].price(Charge.from_json(reserved.charge or {}))
        for balance in self._both(reserved):
            balance.spent -= price
            balance.open -= 1
            balance.refunded += 1

    def _settled(self, entry: Entry) -> Entry:
        return self._reserved.pop(entry.reservation or 0)

    def _both(self, entry: Entry) -> tuple[Balance, Balance]:
        own = self.balances.setdefault((entry.dataset, entry.analyst or ""), Balance())
        return self.balances[entry.dataset, ""], own


@dataclass(frozen=True)
class Stored:
    """What a database holds beside the journal."""

    datasets: Mapping[str, str]
    accounts: Mapping[tuple[str, str], tuple[str, str, int, int, int]]
    outcomes: Mapping[int, tuple[int, str | None, str | None, str | None]]


def verify(
    chain: Chain,
    journal: Iterable[tuple[int, str, Signed]],
    stored: Stored,
    marks: Iterable[tuple[str, Mark]],
    unseen: Iterable[str],
) -> Verification:
    """Walk along the journal, play it through, and compare with what is stored and with what others have noted."""
    problems: list[str] = []
    replay, wanted = Replay(), list(marks)
    heads: dict[int, str] = dict.fromkeys((mark.count for _, mark in wanted), "")
    count, filed = 0, ""

    def numbered() -> Iterator[tuple[int, Signed]]:
        nonlocal count, filed
        for number, dataset, signed in journal:
            count, filed = count + 1, dataset
            if number in heads:
                heads[number] = signed.mac
            yield number, signed

    for entry in chain.walk(numbered(), problems):
        replay.play(entry)
        if entry.dataset != filed:
            problems.append(f"entry {entry.number} is filed under another dataset, {filed}")
    problems += replay.problems
    for who, mark in wanted:
        if not heads[mark.count]:
            problems.append(
                f"the journal has lost its end: {who} has seen entry {mark.count}, and it is not there"
            )
        elif heads[mark.count] != mark.head:
            problems.append(f"entry {mark.count} is not the one that {who} has seen")
    problems += _differences(replay, stored)
    return Verification(count, tuple(problems), tuple(unseen))


def _differences(replay: Replay, stored: Stored) -> Iterator[str]:
    budgets = {name: budget.to_json() for name, budget in replay.budgets.items()}
    for name in sorted(budgets.keys() | stored.datasets.keys()):
        if (
            name not in stored.datasets
            or name not in budgets
            or json.loads(stored.datasets[name]) != budgets[name]
        ):
            yield f"the stored budget of {name} is not the one in the journal"
    rows = {key: balance.row() for key, balance in replay.balances.items()}
    for dataset, analyst in sorted(rows.keys() | stored.accounts.keys()):
        if rows.get((dataset, analyst)) != stored.accounts.get((dataset, analyst)):
            whose = f"{analyst} on {dataset}" if analyst else dataset
            yield f"the stored account of {whose} does not follow from the journal"
    for number in sorted(replay.outcomes.keys() | stored.outcomes.keys()):
        if replay.outcomes.get(number) != stored.outcomes.get(number):
            yield f"what is stored about the end of reservation {number} does not follow from the journal"
