"""The ledger: reserve the cost, then read the data, then issue; nothing is released that was not charged.

The budget belongs to a dataset's *name*, its people, across all versions of the data. A version is a label that
the curator sets, never a digest of the data: whether a request is free or charged must not become an equality
test.

A request that was issued already costs nothing: the same name@version, canonical request and catalogue give the
earlier release. A reservation stays charged whatever happens, but for one case: what failed before any event was
read may be refunded. An analyst is a name, not an authentication.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headcount.budget import Amount
from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.ledger import queries
from headcount.ledger.accounting import Budget, Charge, Spent
from headcount.ledger.accounts import Account, Issued
from headcount.ledger.anchor import Anchor, Mark
from headcount.ledger.journal import (
    Chain,
    Entry,
    digest_of,
    identity_of,
    mac_of,
    now,
    sign,
)
from headcount.ledger.keys import key_path, make_key, missing_key, read_key
from headcount.ledger.moving import read_lines, write_lines
from headcount.ledger.names import check_asked, check_name, user_name
from headcount.ledger.reservations import Reservation
from headcount.ledger.stores import Store, open_store
from headcount.ledger.transactions import Transaction
from headcount.ledger.verifying import Balance, Verification, verify


@dataclass(frozen=True)
class _Opened:
    chain: str
    key: bytes | None
    key_fits: bool
    anchor: Anchor


class Ledger:
    """The account of what was spent on each dataset, in a SQLite file or a PostgreSQL database.

    The key that signs the journal is made on first use, at ``key``, ``HEADCOUNT_LEDGER_KEY`` or beside the user's
    configuration. The anchor is at ``anchor``, ``HEADCOUNT_LEDGER_ANCHOR`` or beside the configuration, too.

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

    def __init__(
        self,
        url: str,
        *,
        key: str | os.PathLike[str] | None = None,
        anchor: str | os.PathLike[str] | None = None,
        upgrade: bool = False,
    ) -> None:
        self.store: Store = open_store(url)
        self.key_path = key_path(key)
        self._anchor_given = anchor
        self._known: _Opened | None = None
        if upgrade:
            self.store.migrate()

    def close(self) -> None:
        """Let go of the database and the anchor."""
        if self._known is not None:
            self._known.anchor.close()
        self.store.close()
        self._known = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Spending

    def create(
        self,
        dataset: str,
        epsilon: Amount,
        delta: Amount | None = None,
        per_analyst: Amount | None = None,
        filter: str = "sum",  # noqa: A002
    ) -> Account:
        """Create the budget of a dataset, and the ledger itself if there is none; a budget is never changed."""
        budget = Budget.of(epsilon, delta=delta, per_analyst=per_analyst, filter=filter)
        check_name("dataset", dataset)
        if not self.store.version():
            self._make(secrets.token_hex(32))
        with self._writing() as (run, head):
            if queries.budget(run, dataset) is not None:
                raise UsageError(f"{dataset} has a budget already", remedy="see `headcount ledger show`")
            mark = self._append(run, head, kind="create", dataset=dataset, budget=budget.to_json())
            queries.add_dataset(run, dataset, budget)
            queries.save_balances(run, dataset, {"": Balance()})
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
    ) -> Reservation | Issued:
        """Charge a request in one transaction, or refuse it; what was issued already is returned at no cost.

        ``request`` is JSON text and is made canonical. ``analyst`` is the user's name if None. ``again`` asks for
        a fresh, charged draw. When this returns a reservation, it is durable.
        """
        analyst = user_name() if analyst is None else analyst
        request = check_asked(dataset, version, analyst, request, catalogue)
        with self._writing() as (run, head):
            budget = self._budget(run, dataset)
            if not again:
                found = queries.issued(run, identity_of(dataset, version, request, catalogue))
                if found is not None:
                    return Issued(*found)
            balances = queries.balances(run, dataset, ("", analyst))
            whole, own = balances[""], balances.setdefault(analyst, Balance())
            budget.check(whole.spent, own.spent, charge, dataset=dataset, analyst=analyst)
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
            )
            for balance in (whole, own):
                balance.spent += budget.price(charge)
                balance.open += 1
            queries.save_balances(run, dataset, balances)
        return Reservation(self, mark.count, mark.head, dataset, version, analyst, charge)

    def issued(self, dataset: str, version: str | None, request: str, catalogue: str) -> Issued | None:
        """Return what was issued for this very request, if anything; charges nothing."""
        request = check_asked(dataset, version, "-", request, catalogue)
        self._open()
        with self.store.reading() as run:
            found = queries.issued(run, identity_of(dataset, version, request, catalogue))
        return None if found is None else Issued(*found)

    def check(self, dataset: str, analyst: str | None, charge: Charge) -> Account:
        """Refuse a charge as :meth:`reserve` would, or return the account as it is; charges nothing."""
        analyst = user_name() if analyst is None else analyst
        account = self.show(dataset)
        own = next((each.spent for each in account.analysts if each.analyst == analyst), Spent())
        account.budget.check(account.spent, own, charge, dataset=dataset, analyst=analyst)
        return account

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
            left = self._budget(run, reserved.dataset).left_of(Charge.from_json(reserved.charge or {}), spent)
            mark = self._append(run, head, kind="publish", **_whose(reserved), **about)
            queries.add_outcome(run, reserved.number, (mark.count, reserved.identity, folder, digest))
            balances = queries.balances(run, reserved.dataset, ("", reserved.analyst or ""))
            for balance in balances.values():
                balance.spent -= left
                balance.open -= 1
                balance.issued += 1
            queries.save_balances(run, reserved.dataset, balances)
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
            queries.add_outcome(run, reserved.number, (mark.count, None, None, None))
            price = self._budget(run, reserved.dataset).price(Charge.from_json(reserved.charge or {}))
            balances = queries.balances(run, reserved.dataset, ("", reserved.analyst or ""))
            for balance in balances.values():
                balance.spent -= price
                balance.open -= 1
                balance.refunded += 1
            queries.save_balances(run, reserved.dataset, balances)
        self._anchor(mark)

    # Looking

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all datasets that have a budget."""
        self._open()
        with self.store.reading() as run:
            return queries.datasets(run)

    def show(self, dataset: str) -> Account:
        """Return the account of a dataset, with those of its analysts."""
        self._open()
        with self.store.reading() as run:
            budget = self._budget(run, dataset)
            balances = queries.balances(run, dataset)
        accounts = {
            analyst: Account(dataset, analyst or None, budget, each.spent, each.open, each.issued, each.refunded)
            for analyst, each in sorted(balances.items())
        }
        whole = accounts.pop("")
        return Account(**{**vars(whole), "analysts": tuple(accounts.values())})

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return the journal's entries, those of one dataset or all, oldest first."""
        self._open()
        with self.store.reading() as run:
            if dataset is not None:
                self._budget(run, dataset)
            return [signed.entry for _, _, signed in queries.journal(run, dataset)]

    def verify(self, witnesses: Iterable[tuple[int, str]] = ()) -> Verification:
        """Look for edits, deletions and reordering, and for accounts that do not follow from the journal.

        ``witnesses`` are the entries and heads that releases carry (``release.json``, under ``ledger``).
        """
        opened = self._open()
        marks = [(f"the release that names entry {entry}", Mark(entry, head)) for entry, head in witnesses]
        problems, unseen = [], []
        if opened.key is None:
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
            found = verify(chain, queries.journal(run), queries.stored(run), marks, unseen)
        return Verification(found.entries, (*problems, *found.problems), found.unseen)

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
        key = read_key(self.key_path)
        if key is None:
            raise missing_key(self.key_path)
        chain, signed, replay = read_lines(path, key)
        mark = Anchor(Anchor.place(self._anchor_given, chain), chain, key).read()
        if mark is not None and (mark.count > len(signed) or signed[mark.count - 1].mac != mark.head):
            raise RefusedError(f"the journal {path} lacks entry {mark.count}, which the anchor has seen")
        if self.store.version():
            raise UsageError(f"there is a ledger at {self.store.shown} already", remedy="import into a new one")
        self._make(chain)
        with self._writing(checked=False) as (run, head):
            if head.count:
                raise UsageError(
                    f"there is a ledger at {self.store.shown} already", remedy="import into a new one"
                )
            queries.add_entries(run, [(each.entry, each) for each in signed])
            queries.restore(run, replay)
        self._anchor(Mark(len(signed), signed[-1].mac))
        return len(signed)

    # Inside

    def _make(self, chain: str) -> None:
        key = read_key(self.key_path) or make_key(self.key_path)
        self.store.migrate(fresh={"chain": chain, "key_id": _key_id(key, chain)})
        self._known = None

    def _open(self) -> _Opened:
        if self._known is None:
            self.store.check_version()
            with self.store.reading() as run:
                chain, key_id = queries.name(run)
            key = read_key(self.key_path)
            fits = key is not None and hmac.compare_digest(_key_id(key, chain), key_id)
            anchor = Anchor(Anchor.place(self._anchor_given, chain), chain, key if fits else None)
            self._known = _Opened(chain, key, fits, anchor)
        return self._known

    @contextmanager
    def _writing(self, *, checked: bool = True) -> Iterator[tuple[Transaction, Mark]]:
        """Open a transaction that appends to the journal, and yield how it ends now."""
        opened = self._open()
        if opened.key is None:
            raise missing_key(self.key_path)
        if not opened.key_fits:
            raise UsageError(
                f"the key at {self.key_path} is not the one that this ledger was made with",
                remedy="set HEADCOUNT_LEDGER_KEY to the right one",
            )
        anchored = opened.anchor.read() if checked else None
        with self.store.writing() as run:
            head = queries.head(run) or Mark(0, opened.chain)
            if anchored is not None and queries.mac(run, anchored.count) != anchored.head:
                raise RefusedError(
                    f"the journal is not the one that was anchored: entry {anchored.count} was lost or changed, "
                    "so nothing can be charged",
                    remedy="restore the database; `headcount ledger verify` says more",
                )
            yield run, head

    def _append(self, run: Transaction, head: Mark, **fields: Any) -> Mark:
        entry = Entry(number=head.count + 1, previous=head.head, time=now(), **fields)
        signed = sign(entry, self._open().key or b"")
        queries.add_entries(run, [(entry, signed)])
        return Mark(entry.number, signed.mac)

    def _anchor(self, mark: Mark) -> None:
        self._open().anchor.advance(mark)

    def _budget(self, run: Transaction, dataset: str) -> Budget:
        budget = queries.budget(run, dataset)
        if budget is None:
            raise UnknownNameError.among("dataset", dataset, queries.datasets(run), where="this ledger")
        return budget


def _key_id(key: bytes, chain: str) -> str:
    return mac_of(key, f"headcount ledger key {chain}")[:16]


def _whose(entry: Entry) -> dict[str, str | None]:
    return {"dataset": entry.dataset, "version": entry.version, "analyst": entry.analyst}
