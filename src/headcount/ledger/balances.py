"""Balances of a dataset by analyst and window, and how a request changes them; used to charge and to verify.

A request is charged to the dataset and to the analyst; and, where the budget has windows, to both in every window
that it touches as well. It must fit into every budget there is: of each of these windows, and of all time.

An analyst who is allowed an amount of their own has that in place of what each analyst may spend, and in each
window where there are some. It comes beside the budget of the dataset and never in place of it, so it is no part
of what is promised to people: whatever analysts are allowed, no more than the budget is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from headcount.accounting.budget import Amount
from headcount.accounting.charges import Charge, Spent, plain, subtract
from headcount.errors import RefusedError
from headcount.ledger.composition import Budget
from headcount.ledger.event_time_windows import Span
from headcount.ledger.journal.entries import Entry


class BalanceKey(NamedTuple):
    """Whose balance it is, '' for everybody's; and of which window, None for all time."""

    analyst: str = ""
    window: int | None = None


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


class BalanceRequest(NamedTuple):
    """What a request is to the balances: who asks, at which price, and from when until when it reads."""

    analyst: str
    charge: Charge
    span: Span | None = None

    @classmethod
    def from_entry(cls, reserved: Entry) -> BalanceRequest:
        """Read it from the entry that reserves it."""
        return cls(reserved.analyst or "", Charge.from_json(reserved.charge or {}), Span.from_json(reserved.span))


@dataclass
class DatasetBalances:
    """The balances of one dataset, or those of them that a request is about.

    >>> request = BalanceRequest("ann", Charge(Decimal("0.8")))
    >>> balances = DatasetBalances("visits", Budget.of("3"))
    >>> balances.check(request)
    >>> balances.take(request)
    >>> print(balances.left("ann"))
    2.2
    """

    dataset: str
    budget: Budget
    by_key: dict[BalanceKey, Balance] = field(default_factory=lambda: {BalanceKey(): Balance()})
    allowances: dict[str, Decimal] = field(default_factory=dict)

    def budget_of(self, analyst: str) -> Budget:
        """Return the budget as it is for an analyst, who may be allowed an amount of their own."""
        own = self.allowances.get(analyst)
        return self.budget if own is None else self.budget.allowing(own)

    def allow(self, analyst: str, epsilon: Amount) -> Decimal:
        """Let an analyst spend so much in all, or in each window; never less than was spent already.

        >>> balances = DatasetBalances("visits", Budget.of("3"))
        >>> balances.take(BalanceRequest("ann", Charge(Decimal("0.8"))))
        >>> balances.allow("ann", "0.5")
        Traceback (most recent call last):
        headcount.errors.RefusedError: ann has spent ε = 0.8 on visits already; allow at least that
        """
        own = self.budget.allowing(epsilon)
        most = own.analyst_loss
        held = {place: balance.spent for place, balance in self.by_key.items() if place.analyst == analyst}
        if own.windows is not None:  # what is spent in all time has no limit of one analyst's
            held = {place: spent for place, spent in held.items() if place.window is not None}
        worst = max(held.values(), key=lambda spent: spent.loss, default=Spent())
        if worst.loss > most:
            raise RefusedError(
                f"{analyst} has spent ε = {plain(own.epsilon_of(worst))} on {self.dataset} already",
                remedy="allow at least that",
            )
        assert own.per_analyst is not None  # noqa: S101
        self.allowances[analyst] = own.per_analyst
        return own.per_analyst

    def check(self, request: BalanceRequest) -> None:
        """Refuse what does not fit into what is left: in any window that it touches, and in all."""
        for limit, window, name in self._limits(request.analyst, request.span):
            whole, own = self._spent("", window), self._spent(request.analyst, window)
            limit.check(whole, own, request.charge, dataset=name, analyst=request.analyst)

    def left(self, analyst: str, span: Span | None = None) -> Decimal:
        """Return the ε that an analyst may still spend: on the fullest window of a span, if there are some."""
        left = []
        for limit, window, _ in self._limits(analyst, span):
            left.append(subtract(limit.epsilon, limit.epsilon_of(self._spent("", window))))
            if limit.per_analyst is not None:
                left.append(subtract(limit.per_analyst, limit.epsilon_of(self._spent(analyst, window))))
        return min(left)

    def take(self, request: BalanceRequest) -> None:
        """Charge a request."""
        cost = self.budget.cost_of(request.charge)
        for balance in self._touched(request):
            balance.spent += cost
            balance.open += 1

    def publish(self, request: BalanceRequest, spent: Charge | None) -> None:
        """Note that a charged request was published, and give back what it did not cost."""
        left = self.budget.left_of(request.charge, spent)
        for balance in self._touched(request):
            balance.spent -= left
            balance.open -= 1
            balance.issued += 1

    def refund(self, request: BalanceRequest) -> None:
        """Give back the whole price of a charged request."""
        cost = self.budget.cost_of(request.charge)
        for balance in self._touched(request):
            balance.spent -= cost
            balance.open -= 1
            balance.refunded += 1

    def _limits(self, analyst: str, span: Span | None) -> Iterator[tuple[Budget, int | None, str]]:
        """Return the budgets that a request must fit into, of which window each is, and what it is called."""
        budget = self.budget_of(analyst)
        windows, lifetime = budget.windows, budget.lifetime
        if windows is None:
            yield budget, None, self.dataset
            return
        for number in windows.touched(span):
            yield budget, number, f"{self.dataset} {windows.words(number)}"
        if lifetime is not None:
            yield lifetime, None, f"{self.dataset} over all windows"

    def _spent(self, analyst: str, window: int | None) -> Spent:
        balance = self.by_key.get(BalanceKey(analyst, window))
        return Spent() if balance is None else balance.spent

    def _touched(self, request: BalanceRequest) -> Iterator[Balance]:
        windows: Iterable[int] = self.budget.touched(request.span)
        for window in (None, *windows):
            for analyst in ("", request.analyst):
                yield self.by_key.setdefault(BalanceKey(analyst, window), Balance())
