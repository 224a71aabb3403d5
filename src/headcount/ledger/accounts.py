"""Accounts: spent and remaining privacy budget of a dataset, an analyst or a window, for display."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headcount.accounting.charges import Spent, plain, subtract
from headcount.ledger.balances import Balance, BalanceKey, DatasetBalances
from headcount.ledger.composition import Budget


@dataclass(frozen=True)
class Issued:
    """A release that was issued for the same request: asking again costs nothing."""

    entry: int
    folder: str
    digest: str


@dataclass(frozen=True)
class Account:
    """What was spent on a dataset, or by one analyst on it, and what is left.

    Where the budget has windows, ``windows`` are the accounts of those that were charged, and this one is about
    all of them: each request counts in it once. ``window`` says which one an account is about.
    """

    dataset: str
    analyst: str | None
    budget: Budget
    spent: Spent
    open: int
    issued: int
    refunded: int
    analysts: tuple[Account, ...] = ()
    window: int | None = None
    windows: tuple[Account, ...] = ()

    @property
    def most(self) -> Decimal:
        """The ε that may be spent: the analyst's own limit if there is one; infinite without any."""
        if self._limit is None:
            return Decimal("Infinity")
        own = self._limit.per_analyst if self.analyst is not None else None
        return self._limit.epsilon if own is None else own

    @property
    def most_delta(self) -> Decimal:
        """The δ that may be spent; with the filter ``zcdp`` beside what ρ covers."""
        if self._limit is None:
            return Decimal("Infinity")
        return self._limit.delta if self._limit.filter == "sum" else self._limit.slack

    @property
    def _limit(self) -> Budget | None:
        """The budget that holds here: over all windows it is the lifetime, if there is one."""
        over_all = self.budget.windows is not None and self.window is None
        return self.budget.lifetime if over_all else self.budget

    @property
    def epsilon(self) -> Decimal:
        """The ε that everything spent amounts to."""
        return (self._limit or self.budget).epsilon_of(self.spent)

    @property
    def left(self) -> Decimal:
        """The ε that is left; with the filter ``zcdp`` a small request takes less of it than its own ε."""
        return subtract(self.most, self.epsilon)

    @property
    def dates(self) -> str:
        """From when until when its window is, in words; nothing for all time."""
        windows = self.budget.windows
        return "" if windows is None or self.window is None else windows.words(self.window)

    def to_json(self) -> dict[str, Any]:
        """Return the account as plain data."""
        unit = "epsilon" if self.budget.filter == "sum" else "rho"
        data: dict[str, Any] = {
            "dataset": self.dataset,
            "analyst": self.analyst,
            "epsilon": {"budget": _finite(self.most), "spent": plain(self.epsilon), "left": _finite(self.left)},
            "filter": self.budget.filter,
            "added_up": {unit: plain(self.spent.loss)},
            "delta": {"budget": _finite(self.most_delta), "spent": plain(self.spent.delta)},
            "requests": {"open": self.open, "published": self.issued, "refunded": self.refunded},
        }
        windows = self.budget.windows
        if windows is not None and self.window is not None:
            data["window"] = windows.dates(self.window)
        if self.analyst is None:
            data["per_analyst"] = None if self.budget.per_analyst is None else plain(self.budget.per_analyst)
            data["analysts"] = [account.to_json() for account in self.analysts]
        if windows is not None and self.window is None and self.analyst is None:
            data["budget"] = self.budget.to_json()
            data["windows"] = [account.to_json() for account in self.windows]
        return data


def account_of(balances: DatasetBalances) -> Account:
    """Return the account of a dataset: of all time, with those of its windows and of all analysts."""
    windows = sorted({key.window for key in balances.by_key if key.window is not None})
    return _account(balances, None, tuple(_account(balances, window) for window in windows))


def _account(balances: DatasetBalances, window: int | None, windows: tuple[Account, ...] = ()) -> Account:
    charged_analysts = {key.analyst for key in balances.by_key if key.analyst and key.window == window}
    analysts = sorted(charged_analysts | (balances.allowances.keys() if window is None else set()))
    own = tuple(_account_at(balances, BalanceKey(analyst, window)) for analyst in analysts)
    return _account_at(balances, BalanceKey("", window), own, windows)


def _account_at(
    balances: DatasetBalances,
    key: BalanceKey,
    analysts: tuple[Account, ...] = (),
    windows: tuple[Account, ...] = (),
) -> Account:
    held = balances.by_key.get(key, Balance())  # who is allowed something may not have spent any of it
    counts = (held.open, held.issued, held.refunded)
    whose = (balances.dataset, key.analyst or None, balances.budget_of(key.analyst))
    return Account(*whose, held.spent, *counts, analysts=analysts, window=key.window, windows=windows)


def _finite(number: Decimal) -> str | None:
    return plain(number) if number.is_finite() else None
