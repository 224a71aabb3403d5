"""Whether somebody can pay for what they plan: said before they ask, and again when they do.

The ledger alone decides; this only says what it would say, as far as that is sure.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from headcount.errors import RefusedError
from headcount.ledger import Account
from headcount.ledger.accounting import plain


def is_exhausted(account: Account | None) -> bool:
    """Say whether nothing is left to be spent; with windows, each has its own budget."""
    if account is None:
        return True
    return account.left <= 0 and account.budget.windows is None


def refusal(plan: Mapping[str, Any], account: Account | None) -> RefusedError | None:
    """Return why the ledger would refuse what is planned, None if it may not.

    >>> refusal({"price": {"epsilon": "1"}, "ledger": {"left": "2", "published": None}}, None) is None
    True
    >>> str(refusal({"price": {"epsilon": "3"}, "ledger": {"left": "2", "published": None}}, None))
    'this costs ε = 3, and you have ε = 2 left; ask for less, or ask a curator for more'
    """
    ledger = plan.get("ledger")
    if ledger is None or ledger.get("published"):
        return None
    left, price = Decimal(ledger["left"]), Decimal(plan["price"]["epsilon"])
    adds_up = account is None or account.budget.filter == "sum"  # else many small ones cost less than their sum
    if left > 0 and (price <= left or not adds_up):
        return None
    return RefusedError(
        f"this costs ε = {plain(price)}, and you have ε = {plain(left)} left",
        remedy="ask for less, or ask a curator for more",
    )
