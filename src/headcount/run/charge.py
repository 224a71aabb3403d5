"""Charge a request to a ledger: dataset and analyst, cost, reservation, free repetition of a published request."""

from __future__ import annotations

import dataclasses
import os
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from headcount.accounting.charges import plain
from headcount.errors import DataError, HeadcountError, UsageError, param
from headcount.events.conditions import TimeWindow
from headcount.events.encode.text_columns import value_type
from headcount.events.log import EventLog
from headcount.events.sources.source import check_reachable
from headcount.ledger import Account, Charge, Issued, Ledger, Reservation
from headcount.ledger.names import check_name, user_name
from headcount.ledger.windows import Clock, Span
from headcount.methods.partition_selection.plan import completed_selections, find_empty_selection, split_among
from headcount.noise.stages import charged_costs
from headcount.releases.release import Release, load_earlier
from headcount.run.prepare import Prepared

VARIABLE = "HEADCOUNT_LEDGER"

Outcome = TypeVar("Outcome")


class WithheldError(DataError):
    """The one thing that is said of whatever goes wrong once events are read: more would tell about the data.

    It is raised by :func:`withhold_errors` alone, where what went wrong is forgotten already.
    """

    def __init__(self) -> None:
        super().__init__(
            "the release failed after the data was opened; what was wrong is not told, because it may depend on "
            "the data, and the cost stays charged",
            remedy="the curator can look with `headcount check`, with the same flags",
        )


def withhold_errors(act: Callable[[], Outcome]) -> Outcome:
    """Do something with events that have been opened: if it fails, or warns, nothing is told of why.

    The error has no cause and no context: an exception that is raised while another one is handled would carry
    that one, and all that it says, into every traceback.
    """
    with _SILENCE, suppress(Exception):
        return act()
    raise WithheldError


class _Silence:
    """No warning is heard while anybody is inside.

    The filter of warnings is one for all threads: if each set and took it back by itself, one who leaves would let
    the warnings of another be heard, and the last one would leave it silent for good.
    """

    def __init__(self) -> None:
        self._turn, self._inside = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._turn:
            if not self._inside:
                self._ignoring = warnings.catch_warnings(action="ignore")
                self._ignoring.__enter__()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._turn:
            self._inside -= 1
            if not self._inside:
                self._ignoring.__exit__(None, None, None)


_SILENCE = _Silence()


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
        >>> from headcount.ledger.windows import Windows
        >>> budget, charge = Budget.of("1", windows=Windows.of("1mo", time="when")), Charge(Decimal("0.5"))
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
    """Where requests are charged: a ledger, the dataset whose people's budget it is, and who asks.

    >>> Charging.of(None, dataset=None, analyst=None, again=False) is None
    True
    >>> Charging.of(None, dataset="visits", analyst=None, again=False)
    Traceback (most recent call last):
    headcount.errors.UsageError: --dataset is given without a ledger; name one with --ledger or HEADCOUNT_LEDGER
    """

    ledger: Ledger
    dataset: str
    version: str | None
    analyst: str
    again: bool = False
    owned: bool = False
    """Whether the ledger was opened here, from its URL, so that nobody else closes it."""

    @classmethod
    def of(
        cls, ledger: Ledger | str | None, *, dataset: str | None, analyst: str | None, again: bool
    ) -> Charging | None:
        """Read what a caller says; without a ledger, given or in the environment, nothing is charged."""
        if isinstance(ledger, str) and not ledger:
            raise UsageError(f"{param.ledger} must be a URL", remedy="such as sqlite:///headcount.db")
        where = os.environ.get(VARIABLE) if ledger is None else ledger
        if not where:
            for flag, given in (
                (param.dataset, dataset),
                (param.analyst, analyst),
                (param.again(True), again or None),
            ):
                if given is not None:
                    raise UsageError(
                        f"{flag} is given without a ledger", remedy=f"name one with {param.ledger} or {VARIABLE}"
                    )
            return None
        if not isinstance(where, Ledger | str):
            raise UsageError("ledger must be a headcount.Ledger or a URL", given=where)
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
        owned = isinstance(where, str)
        opened = Ledger(where) if isinstance(where, str) else where
        return cls(opened, name, version if at else None, analyst, again, owned)

    def close(self) -> None:
        """Close a ledger that was opened here; it opens by itself should it be needed once more."""
        if self.owned:
            self.ledger.close()

    def preview_charge(self, ready: Prepared) -> ChargePreview:
        """Say where the request stands; refuse it as the ledger would. Charges nothing."""
        charge, span, issued = cost(ready), span_of(ready.log), None
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
        charge = cost(ready)
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


def cost(ready: Prepared) -> Charge:
    """Return what a request costs, known without data: pure stages by their ε, Gaussian noise by its ρ.

    That can be less than the promise, in which the ε of all of these is simply added up.
    """
    if not ready.guarantee.delta:
        return Charge.of(ready.guarantee)
    budget = ready.request.grant().cost
    threshold: list[tuple[Decimal, Decimal]] = []
    if ready.selections:
        selecting, budget = split_among(ready.selections, budget)
        threshold = [(part.epsilon, part.delta) for part in selecting]
    parts = charged_costs(ready.stages(budget), budget) if budget.delta else [budget]
    composed = Charge.of_stages(
        pure=[part.epsilon for part in parts if not part.delta],
        gaussian=[(part.epsilon, part.delta, part.rho) for part in parts if part.delta],
        threshold=threshold,
    )
    whole = Charge.of(ready.guarantee, rho=composed.rho, slack=composed.slack)
    return dataclasses.replace(whole, epsilon=min(whole.epsilon, composed.epsilon))


def final_cost(ready: Prepared, release: Release) -> Charge | None:
    """Return what was spent if it is less than the request costs: selection alone, where it found nothing."""
    if find_empty_selection(release.chosen) is None:
        return None
    parts, _ = split_among(ready.selections, ready.request.grant().cost)
    spent = parts[: len(completed_selections(ready.selections, release.chosen))]
    return Charge.of_stages(threshold=[(part.epsilon, part.delta) for part in spent])


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
