"""What a ledger tells: the account of a dataset or an analyst, and what was issued already."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headcount.ledger.accounting import Budget, Spent, less, plain


@dataclass(frozen=True)
class Issued:
    """A release that was issued for the same request: asking again costs nothing."""

    entry: int
    folder: str
    digest: str


@dataclass(frozen=True)
class Account:
    """What was spent on a dataset, or by one analyst on it, and what is left."""

    dataset: str
    analyst: str | None
    budget: Budget
    spent: Spent
    open: int
    issued: int
    refunded: int
    analysts: tuple[Account, ...] = ()

    @property
    def most(self) -> Decimal:
        """The ε that may be spent: the analyst's own limit if there is one."""
        own = self.budget.per_analyst if self.analyst is not None else None
        return self.budget.epsilon if own is None else own

    @property
    def most_delta(self) -> Decimal:
        """The δ that may be spent; with the filter ``zcdp`` beside what ρ covers."""
        return self.budget.delta if self.budget.filter == "sum" else self.budget.slack

    @property
    def epsilon(self) -> Decimal:
        """The ε that everything spent amounts to."""
        return self.budget.epsilon_of(self.spent)

    @property
    def left(self) -> Decimal:
        """The ε that is left; with the filter ``zcdp`` a small request takes less of it than its own ε."""
        return less(self.most, self.epsilon)

    def to_json(self) -> dict[str, Any]:
        """Return the account as plain data."""
        unit = "epsilon" if self.budget.filter == "sum" else "rho"
        data: dict[str, Any] = {
            "dataset": self.dataset,
            "analyst": self.analyst,
            "epsilon": {"budget": plain(self.most), "spent": plain(self.epsilon), "left": plain(self.left)},
            "filter": self.budget.filter,
            "added_up": {unit: plain(self.spent.loss)},
            "delta": {"budget": plain(self.most_delta), "spent": plain(self.spent.delta)},
            "requests": {"open": self.open, "published": self.issued, "refunded": self.refunded},
        }
        if self.analyst is None:
            data["per_analyst"] = None if self.budget.per_analyst is None else plain(self.budget.per_analyst)
            data["analysts"] = [each.to_json() for each in self.analysts]
        return data
