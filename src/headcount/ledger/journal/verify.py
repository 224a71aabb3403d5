"""Verify a ledger: the journal's chain of digests, and a replay compared with the stored balances."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headcount.accounting.charges import Charge, plain
from headcount.errors import HeadcountError, RefusedError
from headcount.ledger.balances import BalanceKey, BalanceRequest, DatasetBalances
from headcount.ledger.composition import Budget
from headcount.ledger.journal.anchor import Mark
from headcount.ledger.journal.entries import Chain, Entry, Signed

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
        summary = f"{self.entries} entries, {'no problem found' if self.ok else 'problems found'}."
        problems = [f"Problem: {sentence}." for sentence in self.problems[:_SHOWN]]
        if len(self.problems) > _SHOWN:
            problems.append(f"And {len(self.problems) - _SHOWN} more problems.")
        return (summary, *problems, *(f"Not seen: {sentence}." for sentence in self.unseen))

    def to_json(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        return {
            "ok": self.ok,
            "entries": self.entries,
            "problems": list(self.problems),
            "unseen": list(self.unseen),
        }


class Outcome(NamedTuple):
    """The end of a reservation: the entry that notes it, and what was issued, if anything."""

    entry: int
    identity: str | None = None
    folder: str | None = None
    digest: str | None = None


@dataclass
class Replay:
    """The journal played through once more: budgets with their balances, and outcomes, as they follow from it."""

    datasets: dict[str, DatasetBalances] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
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
        if entry.dataset in self.datasets:
            self.problems.append(f"entry {entry.number} creates the budget of {entry.dataset} a second time")
            return
        self.datasets[entry.dataset] = DatasetBalances(entry.dataset, Budget.from_json(entry.budget or {}))

    def _allow(self, entry: Entry) -> None:
        self.datasets[entry.dataset].allow(entry.analyst or "", (entry.budget or {})["epsilon"])

    def _reserve(self, entry: Entry) -> None:
        balances, charged = self.datasets[entry.dataset], BalanceRequest.from_entry(entry)
        self._reserved[entry.number] = entry
        try:
            balances.check(charged)
        finally:
            balances.take(charged)

    def _publish(self, entry: Entry) -> None:
        reserved = self._settled(entry)
        self.outcomes[reserved.number] = Outcome(entry.number, reserved.identity, entry.folder, entry.digest)
        spent = None if entry.charge is None else Charge.from_json(entry.charge)
        self.datasets[reserved.dataset].publish(BalanceRequest.from_entry(reserved), spent)

    def _refund(self, entry: Entry) -> None:
        reserved = self._settled(entry)
        self.outcomes[reserved.number] = Outcome(entry.number)
        self.datasets[reserved.dataset].refund(BalanceRequest.from_entry(reserved))

    def _settled(self, entry: Entry) -> Entry:
        return self._reserved.pop(entry.reservation or 0)


@dataclass(frozen=True)
class Stored:
    """What a database holds beside the journal."""

    datasets: Mapping[str, str]
    accounts: Mapping[tuple[str, BalanceKey], tuple[str, str, int, int, int]]
    outcomes: Mapping[int, Outcome]
    allowances: Mapping[tuple[str, str], str]


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
    budgets = {name: balances.budget.to_json() for name, balances in replay.datasets.items()}
    for name in sorted(budgets.keys() | stored.datasets.keys()):
        if (
            name not in stored.datasets
            or name not in budgets
            or json.loads(stored.datasets[name]) != budgets[name]
        ):
            yield f"the stored budget of {name} is not the one in the journal"
    rows = {
        (name, key): balance.row()
        for name, balances in replay.datasets.items()
        for key, balance in balances.by_key.items()
    }
    wrong = (key for key in rows.keys() | stored.accounts.keys() if rows.get(key) != stored.accounts.get(key))
    for dataset, (analyst, window) in sorted(wrong, key=str):
        whose = f"{analyst} on {dataset}" if analyst else dataset
        where = "" if window is None else f" in window {window}"
        yield f"the stored account of {whose}{where} does not follow from the journal"
    allowed = {
        (name, analyst): plain(epsilon)
        for name, balances in replay.datasets.items()
        for analyst, epsilon in balances.allowances.items()
    }
    for key in sorted(allowed.keys() | stored.allowances.keys()):
        if allowed.get(key) != stored.allowances.get(key):
            yield f"what is stored that {key[1]} may spend on {key[0]} does not follow from the journal"
    for number in sorted(replay.outcomes.keys() | stored.outcomes.keys()):
        if replay.outcomes.get(number) != stored.outcomes.get(number):
            yield f"what is stored about the end of reservation {number} does not follow from the journal"
