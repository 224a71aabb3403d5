"""The ledger account as an analyst may know it, so that no hidden result shows in what is left.

An amount that is given back tells the outcome of a selection. So a release of another user gives back once it is
published. A refund tells that no event was read; it counts from a step of the clock on, as a charge does. The
analyst's own charges count once their results are shown.

A request must fit into this account when it is planned, and again when it is charged. Then every charge counts at
once, so the account never has more left than the ledger, which checks last. So neither a refusal nor its
words depend on a result that the analyst does not see.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from headcount.accounting.charges import plain
from headcount.errors import RefusedError
from headcount.ledger.accounts import account_of
from headcount.ledger.balances import BalanceKey, BalanceRequest, DatasetBalances
from headcount.ledger.journal.entries import Entry
from headcount.run.charge import ChargePreview, Charging, load_issued, span_of
from headcount.run.prepare import Prepared


@dataclass(frozen=True)
class AnalystCharging(Charging):
    """Charging as an analyst may know it; a release that they do not see was not issued."""

    visible_digests: Collection[str] = ()
    """Digests of the releases that the analyst sees."""
    hidden_entries: Collection[int] = ()
    """Reservations of the analyst whose results are not shown yet."""
    until: float = math.inf
    """The last step of the clock, in seconds since 1970: later charges of others do not count yet."""

    def preview_charge(self, ready: Prepared) -> ChargePreview:
        """Say where the request stands; refuse what the shown account has no room for."""
        issued = None if self.again else self.ledger.issued(self.dataset, self.version, *ready.identity())
        issued = issued if issued is not None and issued.digest in self.visible_digests else None
        charge, span = ready.charge, span_of(ready.log)
        whole = self.ledger.replayed(self.dataset, self._counts)
        own = self._own(whole)
        left = own.left(self.analyst, span)
        if issued is not None:
            load_issued(issued, charge)
        else:
            whole.budget.cost_of(charge)  # first: why the filter cannot judge it is public
            try:
                whole.check(BalanceRequest(self.analyst, charge, span))
            except RefusedError:
                raise RefusedError(
                    f"this is beyond the budget; of your own, ε = {plain(max(left, Decimal(0)))} is left",
                    remedy="ask for less, or use what is published already",
                ) from None
        folder, touched = None if issued is None else issued.folder, own.budget.touched(span)
        return ChargePreview(account_of(own), self.analyst, self.version, charge, left, touched, folder)

    def _own(self, whole: DatasetBalances) -> DatasetBalances:
        """Return the balances as if the analyst were the only user of the budget."""
        mine = {window: held for (analyst, window), held in whole.by_key.items() if analyst == self.analyst}
        held = {BalanceKey(who, window): held for window, held in mine.items() for who in ("", self.analyst)}
        return replace(whole, by_key=held)

    def _counts(self, entry: Entry) -> bool:
        if entry.analyst == self.analyst:
            return not {entry.number, entry.reservation}.intersection(self.hidden_entries)
        if entry.kind == "publish":
            return entry.digest in self.visible_digests
        return datetime.fromisoformat(entry.time).timestamp() <= self.until
