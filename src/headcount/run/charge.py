"""Charge a request to a ledger: dataset and analyst, cost, reservation, free repetition of a published request."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from headcount.accounting.charges import plain
from headcount.errors import HeadcountError, UsageError, param
from headcount.events.conditions import TimeWindow
from headcount.events.encode.text_columns import value_type
from headcount.events.log import EventLog
from headcount.events.sources.source import check_reachable
from headcount.ledger import Account, Charge, Issued, Ledger, Reservation
from headcount.ledger.event_time_windows import Clock, Span
from headcount.ledger.journal.entries import check_name, user_name
from headcount.releases.release import Release, load_earlier
from headcount.run.prepare import Prepared


@dataclass(frozen=True)
class ChargePreview:
    """What a ledger says of a request before it is run: what is left, or that it was issued already."""

    account: Account
    analyst: str
    version: str | None
    charge: Charge
    left: Decimal
    """The ε that the analyst may still spend on what is asked for, before this request."""
    touched: range
    """The windows that it would be charged to, if the budget has some."""
    issued: str | None = None

    @property
    def dataset(self) -> str:
        """The dataset with its version."""
        return self.account.dataset + ("" if self.version is None else f"@{self.version}")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        whole = self.account.to_json()
        windows = self.account.budget.windows
        touched = [] if windows is None else [windows.dates(number) for number in self.touched]
        return {
            "dataset": self.account.dataset,
            "version": self.version,
            "analyst": self.analyst,
            "charge": self.charge.to_json(),
            "left": plain(self.left),
            "epsilon": whole["epsilon"],
            "per_analyst": whole["per_analyst"],
            "published": self.issued,
            **({} if windows is None else {"windows": touched}),
        }

    @property
    def words(self) -> str:
        """Say which windows it would be charged to, if the budget has some.

        >>> from headcount.ledger.composition import Budget
        >>> from headcount.accounting.charges import Spent
        >>> from headcount.ledger.event_time_windows import Windows
        >>> budget, charge = Budget.of("1", windows=Windows.parse("1mo", time="when")), Charge(Decimal("0.5"))
        >>> account = Account("visits", None, budget, Spent(), 0, 0, 0)
        >>> ChargePreview(account, "ann", None, charge, Decimal(1), range(300, 302)).words
        ', in each of 2 windows of 1 month, from 2026-01-01 to 2026-03-01'
        """
        windows, many = self.account.budget.windows, len(self.touched)
        if windows is None:
            return ""
        windows_words = f"in the window of {windows}" if many == 1 else f"in each of {many:,} windows of {windows}"
        return f", {windows_words}, from {windows.begin(self.touched[0])} to {windows.begin(self.touched[-1] + 1)}"


@dataclass(frozen=True)
class Charging:
    """Where requests are charged: a ledger, the dataset whose people's budget it is, and who asks."""

    ledger: Ledger
    dataset: str
    version: str | None
    analyst: str
    again: bool = False
    owned: bool = False
    """Whether the ledger was opened here, from its URL, so that nobody else closes it."""

    @classmethod
    def open(cls, ledger: Ledger | str, dataset: str | None, analyst: str | None, *, again: bool) -> Charging:
        """Read where and for whom a ledger, or the one at a URL, is charged."""
        if not isinstance(ledger, Ledger | str):
            raise UsageError("ledger must be a headcount.Ledger or a URL", given=ledger)
        if dataset is None:
            raise UsageError(
                f"a ledger needs {param.dataset}: the name of the people whose budget is spent",
                remedy=f"such as {param.dataset('visits')}, or visits@2026-w46 with the version of the data",
            )
        name, at, version = dataset.partition("@")
        check_name("dataset", name)
        if at:
            check_name("version", version)
        analyst = user_name() if analyst is None else analyst
        check_name("analyst", analyst)
        opened = Ledger(ledger) if isinstance(ledger, str) else ledger
        return cls(opened, name, version if at else None, analyst, again, owned=isinstance(ledger, str))

    def close(self) -> None:
        """Close a ledger that was opened here; it opens by itself should it be needed once more."""
        if self.owned:
            self.ledger.close()

    def preview_charge(self, ready: Prepared) -> ChargePreview:
        """Say where the request stands; refuse it as the ledger would. Charges nothing."""
        charge, span, issued = ready.charge, span_of(ready.log), None
        if not self.again:
            issued = self.ledger.issued(self.dataset, self.version, *ready.identity())
        if issued is not None:
            load_issued(issued, charge)
            account = self.ledger.show(self.dataset)
        else:
            account = self.ledger.check(self.dataset, self.analyst, charge, span)
        left, touched = self.ledger.left(self.dataset, self.analyst, span), account.budget.touched(span)
        folder = None if issued is None else issued.folder
        return ChargePreview(account, self.analyst, self.version, charge, left, touched, folder)

    def reserve(self, ready: Prepared) -> Reservation | Release:
        """Charge the request, or return what was issued for it before, which costs nothing."""
        request_identity, catalogue = ready.identity()
        charge = ready.charge
        outcome = self.ledger.reserve(
            self.dataset,
            self.version,
            self.analyst,
            request_identity,
            catalogue,
            charge,
            again=self.again,
            span=span_of(ready.log),
        )
        return load_issued(outcome, charge) if isinstance(outcome, Issued) else outcome


def begin_reading(reservation: Reservation, log: EventLog) -> None:
    """Give the cost back if the data cannot even be opened; else no longer, from here on events are read."""
    try:
        check_reachable(log.source)
    except HeadcountError:
        reservation.refund("the data could not be opened, and nothing was read")
        raise
    reservation.data_read()


def record_charge(
    release: Release, reservation: Reservation, charging: Charging, spent: Charge | None = None
) -> Release:
    """Return a release that says what it was charged as, and that is issued where it is saved first.

    ``spent`` is what it cost in the end, if that is less than was reserved.
    """

    def issue(folder: Path, digest: str) -> None:
        if reservation.state == "reading":
            try:
                reservation.issue(folder, digest, spent)
            finally:
                charging.close()

    guarantee = release.guarantee.within(reservation.windows)
    return dataclasses.replace(release, guarantee=guarantee, ledger=reservation.to_json(), on_save=issue)


def span_of(log: EventLog) -> Span | None:
    """Return from when until when a log is read, None if it is all of it; known without data.

    >>> import pyarrow as pa
    >>> from headcount.events.log import read_events
    >>> table = pa.table({"who": ["ann"], "what": ["tea"], "when": ["2026-03-06"]})
    >>> words = {"user": "who", "item": "what", "items": "tea", "time": "when"}
    >>> span_of(read_events(table, **words, since="2026-03-01", until="2026-04-01"))
    Span(clock=Clock(time='when', time_format=None, timezone=None), since=1772323200000000, until=1775001600000000)
    """
    for condition in log.conditions:
        if isinstance(condition, TimeWindow):  # rows fulfil all conditions, so any one of these limits them
            clock = Clock(condition.column, condition.time.pattern, condition.time.zone)
            return Span(clock, *condition.edges(value_type(log.type_of(condition.column))))
    return None


def load_issued(issued: Issued, charge: Charge) -> Release:
    """Return a release that was issued, or refuse if its folder is gone."""
    release = load_earlier(issued.folder, issued.digest)
    if release is None:
        raise UsageError(
            f"this very request was published in {issued.folder}, which is gone or has changed since; asking "
            f"again would be charged as new, {charge.amounts}",
            remedy=f"restore that folder, or add {param.again(True)}",
        )
    return release
