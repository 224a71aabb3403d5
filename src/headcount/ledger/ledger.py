"""The ledger: reserve the cost, read the data, then issue the release; or refund.

The budget belongs to a dataset's *name*, its people, across all versions of the data. A version is a label that
the curator sets, never a digest of the data: whether a request is free or charged must not become an equality
test.

A request that was issued already costs nothing: the same name@version, canonical request and catalogue give the
earlier release. A reservation stays charged whatever happens, but for one case: what failed before any event was
read may be refunded. An analyst is a name, not an authentication.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from headcount._internal.python_surface import class_errors_in_python
from headcount.accounting.budget import Amount
from headcount.accounting.charges import Charge, plain
from headcount.errors import RefusedError, UnknownNameError, UsageError, param
from headcount.ledger.accounts import Account, Issued, account_of
from headcount.ledger.balances import BalanceRequest, DatasetBalances
from headcount.ledger.composition import Budget
from headcount.ledger.event_time_windows import Span, Windows
from headcount.ledger.journal.anchor import Anchor, Mark
from headcount.ledger.journal.entries import (
    Chain,
    Entry,
    canonical_request_of,
    check_name,
    digest_of,
    identity_of,
    user_name,
)
from headcount.ledger.journal.journal_store import JournalStore, read_lines, write_lines
from headcount.ledger.journal.verify import Outcome, Replay, Verification, verify
from headcount.ledger.reservations import Reservation
from headcount.ledger.stores import queries
from headcount.ledger.stores.transactions import Transaction


@class_errors_in_python
class Ledger(JournalStore):
    """The account of what was spent on each dataset, in a SQLite file or a PostgreSQL database.

    The key that signs the journal is made with it, at ``key``, ``HEADCOUNT_LEDGER_KEY`` or beside the user's
    configuration, one for each ledger. The anchor is at ``anchor``, ``HEADCOUNT_LEDGER_ANCHOR`` or beside the
    configuration, too.

    >>> import tempfile
    >>> from decimal import Decimal
    >>> folder = tempfile.mkdtemp()
    >>> ledger = Ledger(f"sqlite:///{folder}/headcount.db", key=f"{folder}/key", anchor=f"{folder}/anchor")
    >>> print(ledger.create("visits", "3", per_analyst="1").left)
    3
    >>> asked = {"dataset": "visits", "version": "2026-w46", "request": '{"k": 10}', "catalogue": "c1"}
    >>> reservation = ledger.reserve(**asked, analyst="ann", charge=Charge(Decimal("0.8")))
    >>> reservation.data_read()  # from here on events may be read, and nothing is refunded
    >>> reservation.issue("friday/", digest="d1")
    Issued(entry=3, folder='friday/', digest='d1')
    >>> ledger.reserve(**asked, analyst="bob", charge=Charge(Decimal("0.8")))
    Issued(entry=3, folder='friday/', digest='d1')
    >>> ledger.reserve(**asked, analyst="ann", charge=Charge(Decimal("0.8")), again=True)
    Traceback (most recent call last):
    headcount.errors.RefusedError: ann on visits has spent ε = 0.8 of 1, and this request costs ε = 0.8; ask for \
less, or use what is published already
    >>> print(ledger.show("visits").left, ledger.show("visits").analysts[0].left)
    2.2 0.2
    >>> ledger.verify().sentences()
    ('3 entries, no problem found.',)
    >>> ledger.close()
    """

    def __repr__(self) -> str:
        return f"<Ledger at {self.store.shown}>"

    # Spending

    def create(
        self,
        dataset: str,
        epsilon: Amount,
        delta: Amount | None = None,
        per_analyst: Amount | None = None,
        filter: str = "sum",  # noqa: A002
        *,
        window: str | None = None,
        lifetime: Amount | None = None,
        lifetime_delta: Amount | None = None,
        time: str | None = None,
        time_format: str | None = None,
        timezone: str | None = None,
        origin: str | None = None,
    ) -> Account:
        """Create the budget of a dataset, and the ledger itself if there is none; a budget is never changed.

        With a ``window``, such as ``30d``, ``1w`` or ``1mo``, it is the budget of each window of event time, and
        ``lifetime`` may limit what is spent on all of them. ``time``, ``time_format`` and ``timezone`` say how
        event time is read, ``origin`` when a window begins: see
        :class:`headcount.ledger.event_time_windows.Windows`.
        """
        windows = Windows.parse(window, time=time, time_format=time_format, timezone=timezone, origin=origin)
        budget = Budget.of(
            epsilon,
            delta=delta,
            per_analyst=per_analyst,
            filter=filter,
            windows=windows,
            lifetime=_lifetime(lifetime, lifetime_delta, filter),
        )
        check_name("dataset", dataset)
        if not self.store.version():
            self._make(secrets.token_hex(32))
        with self._writing() as (run, head):
            if queries.budget(run, dataset) is not None:
                raise UsageError(f"{dataset} has a budget already", remedy="see `headcount ledger show`")
            mark = self._append(run, head, kind="create", dataset=dataset, budget=budget.to_json())
            queries.add_dataset(run, dataset, budget)
            queries.save_balances(run, dataset, DatasetBalances(dataset, budget).by_key)
        self._anchor(mark)
        return self.show(dataset)

    def allow(self, dataset: str, analyst: str, epsilon: Amount) -> Account:
        """Let an analyst spend so much on a dataset, in place of what each analyst may; it can be changed again.

        It may be nothing at all, but never less than the analyst has spent already, nor more than the budget.
        Where that has windows, it is what the analyst may spend in each. The budget stays the limit above all:
        what analysts are allowed may add up to more.
        """
        check_name("dataset", dataset)
        check_name("analyst", analyst)
        with self._writing() as (run, head):
            budget = self._budget(run, dataset)
            balances = DatasetBalances(dataset, budget, queries.balances(run, dataset))
            allowed = balances.allow(analyst, epsilon)
            mark = self._append(
                run, head, kind="allow", dataset=dataset, analyst=analyst, budget={"epsilon": plain(allowed)}
            )
            queries.save_allowance(run, dataset, analyst, allowed)
        self._anchor(mark)
        return self.show(dataset)

    def reserve(
        self,
        dataset: str,
        version: str | None,
        analyst: str | None,
        request: str,
        catalogue: str,
        charge: Charge,
        *,
        again: bool = False,
        span: Span | None = None,
    ) -> Reservation | Issued:
        """Charge a request in one transaction, or refuse it; what was issued already is returned at no cost.

        ``request`` is JSON text and is made canonical. ``analyst`` is the user's name if None. ``again`` asks for
        a fresh, charged draw. ``span`` is from when until when events are read: where the budget has windows, each
        that it touches is charged, or none is. When this returns a reservation, it is durable.
        """
        analyst = user_name() if analyst is None else analyst
        request = canonical_request_of(dataset, version, analyst, request, catalogue)
        with self._writing() as (run, head):
            budget = self._budget(run, dataset)
            if not again:
                issued = queries.issued(run, identity_of(dataset, version, request, catalogue))
                if issued is not None:
                    return Issued(*issued)
            charged = BalanceRequest(analyst, charge, None if budget.windows is None else span)
            balances = _load_balances(run, dataset, budget, analyst, charged.span)
            balances.check(charged)
            mark = self._append(
                run,
                head,
                kind="reserve",
                dataset=dataset,
                version=version,
                analyst=analyst,
                request=request,
                request_digest=digest_of(request),
                catalogue=catalogue,
                charge=charge.to_json(),
                span=None if charged.span is None else charged.span.to_json(),
            )
            balances.take(charged)
            queries.save_balances(run, dataset, balances.by_key)
        return Reservation(self, mark.count, mark.head, dataset, version, analyst, charge, windows=budget.windows)

    def issued(self, dataset: str, version: str | None, request: str, catalogue: str) -> Issued | None:
        """Return what was issued for this very request, if anything; charges nothing."""
        request = canonical_request_of(dataset, version, "-", request, catalogue)
        self._open()
        with self.store.reading() as run:
            row = queries.issued(run, identity_of(dataset, version, request, catalogue))
        return None if row is None else Issued(*row)

    def check(self, dataset: str, analyst: str | None, charge: Charge, span: Span | None = None) -> Account:
        """Refuse a charge as :meth:`reserve` would, or return the account as it is; charges nothing."""
        analyst = user_name() if analyst is None else analyst
        self._balances(dataset, analyst, span).check(BalanceRequest(analyst, charge, span))
        return self.show(dataset)

    def left(self, dataset: str, analyst: str | None, span: Span | None = None) -> Decimal:
        """Return the ε that an analyst may still spend on a dataset: where it has windows, on a span of them."""
        analyst = user_name() if analyst is None else analyst
        return self._balances(dataset, analyst, span).left(analyst, span)

    def _balances(self, dataset: str, analyst: str, span: Span | None) -> DatasetBalances:
        self._open()
        with self.store.reading() as run:
            return _load_balances(run, dataset, self._budget(run, dataset), analyst, span)

    def keep_anchored(self, reservation: Reservation) -> None:
        """See that a reservation is in the anchor, on the disk; called by the reservation."""
        self._anchor(Mark(reservation.entry, reservation.head))

    def keep_issued(
        self, reservation: Reservation, folder: str, digest: str, spent: Charge | None = None
    ) -> Issued:
        """Note what was issued, and give back what it did not cost; called by the reservation."""
        with self._writing() as (run, head):
            reserved = queries.entry(run, reservation.entry)
            outcome = queries.outcome(run, reservation.entry)
            if outcome is not None:
                if (outcome.folder, outcome.digest) == (
                    folder,
                    digest,
                ):  # a second try: the first answer was lost
                    return Issued(outcome.entry, folder, digest)
                raise UsageError(f"reservation {reservation.entry} has been published or refunded already")
            about: dict[str, Any] = {"reservation": reserved.number, "folder": folder, "digest": digest}
            if spent is not None:
                about["charge"] = spent.to_json()
            # the time of the request: that of the release would tell how long the data took
            mark = self._append(run, head, kind="publish", time=reserved.time, **_whose(reserved), **about)
            queries.add_outcome(run, reserved.number, Outcome(mark.count, reserved.identity, folder, digest))
            self._settle(run, reserved, lambda balances, request: balances.publish(request, spent))
        self._anchor(mark)
        return Issued(mark.count, folder, digest)

    def keep_refunded(self, reservation: Reservation, reason: str) -> None:
        """Give the cost back; called by the reservation."""
        with self._writing() as (run, head):
            reserved = queries.entry(run, reservation.entry)
            if queries.outcome(run, reservation.entry) is not None:
                raise UsageError(f"reservation {reservation.entry} has been published or refunded already")
            about = {"reservation": reserved.number, "reason": reason}
            mark = self._append(run, head, kind="refund", **_whose(reserved), **about)
            queries.add_outcome(run, reserved.number, Outcome(mark.count))
            self._settle(run, reserved, DatasetBalances.refund)
        self._anchor(mark)

    def _settle(
        self, run: Transaction, reserved: Entry, how: Callable[[DatasetBalances, BalanceRequest], None]
    ) -> None:
        charged = BalanceRequest.from_entry(reserved)
        budget = self._budget(run, reserved.dataset)
        balances = _load_balances(run, reserved.dataset, budget, charged.analyst, charged.span)
        how(balances, charged)
        queries.save_balances(run, reserved.dataset, balances.by_key)

    # Looking

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all datasets that have a budget."""
        self._open()
        with self.store.reading() as run:
            return queries.datasets(run)

    def show(self, dataset: str, *, without: Collection[int] = ()) -> Account:
        """Return the account of a dataset, with those of its analysts; as if some reservations were not there."""
        if without:
            return account_of(
                self.replayed(dataset, lambda e: not {e.number, e.reservation}.intersection(without))
            )
        self._open()
        with self.store.reading() as run:
            budget = self._budget(run, dataset)
            held = queries.balances(run, dataset)
            return account_of(DatasetBalances(dataset, budget, held, queries.allowances(run, dataset)))

    def replayed(self, dataset: str, counts: Callable[[Entry], bool]) -> DatasetBalances:
        """Return the balances of a dataset as if the journal had those entries alone that count."""
        self._open()
        with self.store.reading() as run:
            replay = Replay({dataset: DatasetBalances(dataset, self._budget(run, dataset))})
            for _, _, signed in queries.journal(run, dataset):
                if signed.entry.kind not in ("create", "allow") and counts(signed.entry):
                    replay.play(signed.entry)
            replay.datasets[dataset].allowances |= queries.allowances(run, dataset)  # what each may spend by now
        return replay.datasets[dataset]

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return the journal's entries, those of one dataset or all, oldest first.

        A ``publish`` entry has the time of its request, also where an earlier build wrote down when the run ended.
        """
        self._open()
        with self.store.reading() as run:
            if dataset is not None:
                self._budget(run, dataset)
            entries = [signed.entry for _, _, signed in queries.journal(run, dataset)]
        times = {entry.number: entry.time for entry in entries}
        begun = [times.get(entry.reservation or 0, entry.time) for entry in entries]
        return [replace(e, time=at) if e.kind == "publish" else e for e, at in zip(entries, begun, strict=True)]

    def verify(self, witnesses: Iterable[tuple[int, str]] = ()) -> Verification:
        """Look for edits, deletions and reordering, and for accounts that do not follow from the journal.

        ``witnesses`` are the entries and heads that releases carry (``release.json``, under ``ledger``).
        """
        opened = self._open()
        marks = [(f"the release that names entry {entry}", Mark(entry, head)) for entry, head in witnesses]
        problems, unseen = [], []
        if opened.key is None and self._key_place(opened.chain).has_others():
            problems.append(
                f"the key of this ledger is not at {self.key_path}, where those of your other ledgers are: the "
                "ledger was replaced, or its key was lost"
            )
        elif opened.key is None:
            unseen.append(f"edits that keep the chain: the key is not at {self.key_path}")
        elif not opened.key_fits:
            problems.append(f"the key at {self.key_path} is not the one that this ledger was made with")
        try:
            anchored = opened.anchor.read()
            if anchored is not None:
                marks.append(("the anchor", anchored))
            else:
                unseen.append(f"entries cut off at the end: there is no anchor at {opened.anchor.path}")
        except RefusedError as error:
            problems.append(error.problem)
            unseen.append("entries cut off at the end: the anchor tells nothing")
        with self.store.reading() as run:  # after the anchor: the journal can only have grown
            chain = Chain(opened.chain, opened.key if opened.key_fits else None)
            verification = verify(chain, queries.journal(run), queries.stored(run), marks, unseen)
        return Verification(verification.entries, (*problems, *verification.problems), verification.unseen)

    # Moving

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the journal as JSON lines to a new file; return the number of entries."""
        self._open()
        with self.store.reading() as run:
            return write_lines(path, (signed for _, _, signed in queries.journal(run)))

    def import_(self, path: str | os.PathLike[str]) -> int:
        """Read an exported journal into a place where there is no ledger yet; return the number of entries.

        The journal keeps its name, key and anchor: a copy that lacks what the anchor has seen is refused.
        """
        chain, key, signed, replay = read_lines(path, self._key_place)
        mark = Anchor(Anchor.place(self._anchor_given, chain), chain, key).read()
        if mark is not None and (mark.count > len(signed) or signed[mark.count - 1].mac != mark.head):
            raise RefusedError(f"the journal {path} lacks entry {mark.count}, which the anchor has seen")
        if self.store.version():
            raise UsageError(f"there is a ledger at {self.store.shown} already", remedy="import into a new one")
        self._make(chain, key)
        with self._writing(checked=False) as (run, head):
            if head.count:
                raise UsageError(
                    f"there is a ledger at {self.store.shown} already", remedy="import into a new one"
                )
            queries.add_entries(run, [(signed_entry.entry, signed_entry) for signed_entry in signed])
            queries.restore(run, replay)
        self._anchor(Mark(len(signed), signed[-1].mac))
        return len(signed)

    def _budget(self, run: Transaction, dataset: str) -> Budget:
        budget = queries.budget(run, dataset)
        if budget is None:
            raise UnknownNameError.among("dataset", dataset, queries.datasets(run), where="this ledger")
        return budget


def _lifetime(epsilon: Amount | None, delta: Amount | None, kind: str) -> Budget | None:
    """Return what may be spent on all windows together, None if that has no limit."""
    if epsilon is not None:
        return Budget.of(epsilon, delta=delta, filter=kind)
    if delta is not None:
        raise UsageError(
            f"{param.lifetime_delta} is given without {param.lifetime}",
            remedy=f"leave it out, or add {param.lifetime('E')}",
        )
    return None


def _load_balances(
    run: Transaction, dataset: str, budget: Budget, analyst: str, span: Span | None
) -> DatasetBalances:
    """Return the balances that a request is about."""
    held = queries.balances_for(run, dataset, analyst, budget.touched(span))
    return DatasetBalances(dataset, budget, held, queries.allowances(run, dataset, analyst))


def _whose(entry: Entry) -> dict[str, str | None]:
    return {"dataset": entry.dataset, "version": entry.version, "analyst": entry.analyst}
