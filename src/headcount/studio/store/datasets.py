"""Datasets of the studio: source, reading flags, members and their budgets, states.

A dataset has the name of its budget in the ledger. A *draft* is not complete yet. An *open* dataset has a budget,
and releases are asked for; of a *closed* one, nothing more is. Once opened, a dataset keeps its name and its kind,
and other data needs another label of its version, as the ledger requires.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from headcount.accounting.budget import Amount
from headcount.accounting.charges import plain
from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.events.log_parameters import READERS
from headcount.events.times import TimeFormat
from headcount.ledger import Account as LedgerAccount
from headcount.ledger import Ledger
from headcount.ledger.journal.entries import check_name
from headcount.studio.access import Visitor, check_curator, refuse_token
from headcount.studio.security import path_policy
from headcount.studio.security.secrets import fresh_id
from headcount.studio.settings import Settings
from headcount.studio.store import audit_log
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.schema import accounts, datasets, jobs, members, releases

READS = ("events", "ratings", "people", "tags")
_CHANGEABLE = ("name", "about", "reads", "source", "flags", "version")
_CURATOR_FLAGS = ("table", "query")
"""Flags of reading that analysts do not see."""


@dataclass(frozen=True)
class Dataset:
    """A dataset; an analyst does not see where it lies."""

    id: str
    name: str
    about: str
    reads: str
    source: Mapping[str, Any]
    flags: Mapping[str, Any]
    version: str | None
    state: str
    made_by: str
    created: float

    @property
    def place(self) -> str:
        """Where it lies, without passwords."""
        return path_policy.describe_source(self.source)

    def for_analysts(self) -> Dataset:
        """Return the part of it that analysts see."""
        visible_flags = {name: value for name, value in self.flags.items() if name not in _CURATOR_FLAGS}
        return replace(self, source={}, flags=visible_flags, made_by="")


@dataclass(frozen=True)
class Member:
    """An analyst who may spend on a dataset, and how much."""

    person: str
    name: str
    epsilon: Decimal
    added: float


class Datasets:
    """The datasets of a studio."""

    def __init__(
        self, settings: Settings, store: StudioDatabase, ledger: Ledger, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings, self._store, self._ledger, self._clock = settings, store, ledger, clock

    def register(
        self,
        visitor: Visitor,
        *,
        name: str,
        source: Mapping[str, Any],
        reads: str = "events",
        flags: Mapping[str, Any] | None = None,
        about: str = "",
        version: str | None = None,
    ) -> Dataset:
        """Make a draft of a dataset."""
        check_curator(visitor)
        fields: dict[str, Any] = {
            "name": name.strip(), "about": about, "reads": reads, "source": dict(source),
            "flags": dict(flags or {}), "version": version or None,
        }  # fmt: skip
        self._check(fields)
        now, key = self._clock(), fresh_id()
        with self._store.writing() as run:
            _check_free(run, fields["name"])
            run.execute(datasets.insert().values(**fields, id=key, state="draft", made_by=visitor.id, created=now))
            audit_log.append(run, visitor, "registered a dataset", now, {"dataset": fields["name"]})
        return self.get(visitor, key)

    def update(self, visitor: Visitor, dataset: str, **changes: Any) -> Dataset:
        """Change a dataset: everything of a draft; of one that was opened all but name and kind."""
        check_curator(visitor)
        if strange := changes.keys() - set(_CHANGEABLE):
            raise UsageError(f"a dataset has no {min(strange)}")
        with self._store.writing() as run:
            held = _get(run, dataset)
            fields = {name: getattr(held, name) for name in _CHANGEABLE} | changes
            fields["version"] = fields["version"] or None
            self._check(fields)
            if held.state != "draft":
                _check_opened(held, fields)
            elif fields["name"] != held.name:
                _check_free(run, fields["name"])
            changed = {name: value for name, value in fields.items() if name in changes}
            if changed:
                run.execute(datasets.update().where(datasets.c.id == dataset).values(**changed))
            about = {"dataset": held.name, "what": sorted(changed)}
            audit_log.append(run, visitor, "changed a dataset", self._clock(), about)
        return self.get(visitor, dataset)

    def open(self, visitor: Visitor, dataset: str, **budget: Any) -> Dataset:
        """Give a dataset its budget, as ``Ledger.create`` takes it, and let releases be asked for.

        One that has its budget already is opened again, without amounts.
        """
        check_curator(visitor)
        held = self.get(visitor, dataset)
        if self.account(visitor, dataset) is None:
            if "epsilon" not in budget:
                raise UsageError("a dataset needs a budget", remedy="give an epsilon, such as 3")
            TimeFormat(budget.get("time_format"), budget.get("timezone"))  # refuses what no release could read
            self._ledger.create(held.name, **budget)
        elif budget:
            raise RefusedError(f"{held.name} has a budget already, which is never changed")
        return self._set_state(visitor, held, "open", "opened a dataset")

    def close(self, visitor: Visitor, dataset: str) -> Dataset:
        """Let no more releases be asked for; published releases stay."""
        check_curator(visitor)
        return self._set_state(visitor, self.get(visitor, dataset), "closed", "closed a dataset")

    def remove(self, visitor: Visitor, dataset: str) -> None:
        """Forget a draft that has no jobs and no releases."""
        check_curator(visitor)
        with self._store.writing() as run:
            held = _get(run, dataset)
            is_used = any(
                run.execute(sa.select(table.c.id).where(table.c.dataset == dataset)).first()
                for table in (jobs, releases)
            )
            if held.state != "draft" or is_used:
                raise RefusedError(f"{held.name} is in use", remedy="close it")
            run.execute(datasets.delete().where(datasets.c.id == dataset))
            audit_log.append(run, visitor, "removed a dataset", self._clock(), {"dataset": held.name})

    def get(self, visitor: Visitor, dataset: str) -> Dataset:
        """Return a dataset; to an analyst as if there were none unless they are a member, and it is no draft."""
        mine = sa.select(members.c.person).where(members.c.dataset == dataset, members.c.person == visitor.id)
        with self._store.reading() as run:
            held = _get(run, dataset)
            if visitor.is_curator:
                return held
            if held.state == "draft" or run.execute(mine).first() is None:
                raise _unknown()
            return held.for_analysts()

    def listed(self, visitor: Visitor) -> list[Dataset]:
        """Return the datasets that a visitor sees, by name."""
        query = sa.select(datasets).order_by(datasets.c.name)
        if not visitor.is_curator:
            mine = sa.select(members.c.dataset).where(members.c.person == visitor.id)
            query = query.where(datasets.c.id.in_(mine), datasets.c.state != "draft")
        with self._store.reading() as run:
            visible = [Dataset(**row._mapping) for row in run.execute(query)]
        return visible if visitor.is_curator else [dataset.for_analysts() for dataset in visible]

    def account(self, visitor: Visitor, dataset: str) -> LedgerAccount | None:
        """Return the account of a dataset in the ledger; None if it has no budget.

        An analyst gets their own account alone, without charges that are not shown yet: the time of a charge or a
        refund tells when work began and ended.
        """
        held = self.get(visitor, dataset)
        try:
            whole = self._ledger.show(held.name, without=self._hidden_entries(visitor, dataset))
        except (UnknownNameError, UsageError):  # it has no budget yet, or there is no ledger
            return None
        return whole if visitor.is_curator else _account_of(whole, visitor.name)

    def shown(self, visitor: Visitor, dataset: str) -> dict[str, Any]:
        """Return which charges count for an analyst: all but their own that are not shown, up to a step."""
        step, now = self._settings.limits.step_seconds, self._clock()
        until = now // step * step if step > 0 else now
        return {"hidden_entries": sorted(self._hidden_entries(visitor, dataset)), "until": until}

    def published(self, dataset: str | None) -> list[str]:
        """Return the digests of the published releases of a dataset."""
        shared = sa.select(releases.c.digest).where(releases.c.dataset == dataset, releases.c.state == "published")
        with self._store.reading() as run:
            return list(run.execute(shared).scalars())

    def members(self, visitor: Visitor, dataset: str) -> list[Member]:
        """Return who may spend on a dataset, by name."""
        check_curator(visitor)
        query = (
            sa.select(members.c.person, accounts.c.name, members.c.epsilon, members.c.added)
            .join(accounts, accounts.c.id == members.c.person)
            .where(members.c.dataset == dataset)
            .order_by(accounts.c.name)
        )
        with self._store.reading() as run:
            _get(run, dataset)
            return [Member(row.person, row.name, Decimal(row.epsilon), row.added) for row in run.execute(query)]

    def allow(self, visitor: Visitor, dataset: str, person: str, epsilon: Amount) -> Member:
        """Let an analyst see a dataset and spend so much on it, nothing included; it can be changed again.

        The ledger comes first: it alone decides what is spent, and what it refuses changes nothing here.
        """
        check_curator(visitor)
        refuse_token(visitor, "a token allows no user to spend")
        held = self.get(visitor, dataset)
        with self._store.reading() as run:
            who = run.execute(sa.select(accounts.c.id, accounts.c.name).where(accounts.c.id == person)).first()
        if who is None:
            raise UnknownNameError("there is no such person", remedy="look at the list of people")
        if self.account(visitor, dataset) is None:
            raise RefusedError(f"{held.name} has no budget yet", remedy="open it first")
        own = _account_of(self._ledger.allow(held.name, who.name, epsilon), who.name)
        amount, now = plain((own and own.budget.per_analyst) or Decimal(0)), self._clock()
        with self._store.writing() as run:
            there = (members.c.dataset == dataset) & (members.c.person == person)
            if run.execute(members.update().where(there).values(epsilon=amount)).rowcount == 0:
                run.execute(members.insert().values(dataset=dataset, person=person, epsilon=amount, added=now))
            about = {"dataset": held.name, "person": who.name, "epsilon": amount}
            audit_log.append(run, visitor, "allowed", now, about)
        return Member(person, who.name, Decimal(amount), now)

    def dismiss(self, visitor: Visitor, dataset: str, person: str) -> None:
        """Let an analyst no longer see a dataset; their charges and releases stay."""
        check_curator(visitor)
        refuse_token(visitor, "a token dismisses no user")
        with self._store.writing() as run:
            held = _get(run, dataset)
            run.execute(members.delete().where(members.c.dataset == dataset, members.c.person == person))
            audit_log.append(run, visitor, "dismissed", self._clock(), {"dataset": held.name, "person": person})

    def _hidden_entries(self, visitor: Visitor, dataset: str) -> set[int]:
        """Return what was reserved for jobs of an analyst that are not shown yet."""
        if visitor.is_curator:
            return set()
        mine = sa.select(jobs.c.entry).where(
            jobs.c.asker == visitor.id,
            jobs.c.dataset == dataset,
            jobs.c.entry.is_not(None),
            sa.or_(jobs.c.shown.is_(None), jobs.c.shown > self._clock()),
        )
        with self._store.reading() as run:
            return set(run.execute(mine).scalars())

    def _set_state(self, visitor: Visitor, held: Dataset, state: str, deed: str) -> Dataset:
        with self._store.writing() as run:
            run.execute(datasets.update().where(datasets.c.id == held.id).values(state=state))
            audit_log.append(run, visitor, deed, self._clock(), {"dataset": held.name})
        return replace(held, state=state)

    def _check(self, fields: Mapping[str, Any]) -> None:
        """Refuse fields with which no log can be read, as far as this is known without opening anything."""
        check_name("dataset", fields["name"])
        if len(fields["name"]) > 64 or len(fields["about"]) > 10_000:
            raise UsageError("a name has at most 64 characters, and what is said of a dataset 10,000")
        if fields["version"] is not None:
            check_name("version", fields["version"])
            if len(fields["version"]) > 64:
                raise UsageError("a version has at most 64 characters", given=fields["version"][:80])
        if fields["reads"] not in READS:
            raise UnknownNameError.among("kind of log", fields["reads"], READS)
        allowed_flags = READERS[fields["reads"]].names
        for flag in fields["flags"]:
            if flag not in allowed_flags:
                raise UnknownNameError.among("flag", flag, allowed_flags)
        path_policy.event_sources(self._settings, fields["source"])
        path_policy.resolve_read_flags(self._settings, fields["flags"])


def _check_opened(held: Dataset, fields: Mapping[str, Any]) -> None:
    """Refuse changes after which the ledger would no longer know what was published."""
    if (fields["name"], fields["reads"]) != (held.name, held.reads):
        raise RefusedError("a dataset that was opened keeps its name and what it is read as")
    if dict(fields["source"]) != dict(held.source) and fields["version"] == held.version:
        raise RefusedError(
            "other data needs another label of its version: the ledger knows what was published by it",
            remedy="give it a version, such as 2026-w46",
        )


def _check_free(run: sa.Connection, name: str) -> None:
    if run.execute(sa.select(datasets.c.id).where(datasets.c.name == name)).first() is not None:
        raise RefusedError(f"there is a dataset {name} already", remedy="choose another name")


def _account_of(whole: LedgerAccount, analyst: str) -> LedgerAccount | None:
    return next((account for account in whole.analysts if account.analyst == analyst), None)


def _get(run: sa.Connection, dataset: str) -> Dataset:
    row = run.execute(sa.select(datasets).where(datasets.c.id == dataset)).first()
    if row is None:
        raise _unknown()
    return Dataset(**row._mapping)


def _unknown() -> UnknownNameError:
    return UnknownNameError("there is no such dataset", remedy="look at the list of datasets")
