"""The job queue, persistent across restarts; when an analyst sees an outcome.

The duration of work, and so its end, may depend on the data. So an analyst sees the end of a job at whole steps of
time, counted from the request. Until then the job reads as one that runs, whether it waits, runs or has ended. A
job that they cancel until then reads as cancelled, even if it had ended: its release can be had by asking again,
which costs nothing then.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from headcount.errors import HeadcountError, RefusedError, UnknownNameError, UsageError
from headcount.methods.registry import FAMILIES
from headcount.studio.access import NotAllowedError, Role, Visitor, signed_in_id
from headcount.studio.jobs.ipc import ANALYST_READ_FLAGS, CURATOR_READ_FLAGS, CancelledError
from headcount.studio.security.secrets import fresh_id
from headcount.studio.settings import Limits
from headcount.studio.store import audit_log, releases
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.datasets import Dataset, Datasets
from headcount.studio.store.schema import accounts, datasets, jobs, members
from headcount.studio.store.schema import releases as released
from headcount.studio.store.throttling import TooManyError

KINDS = ("release", "check", "compare", "audit", "reproduce")
"""What work there is; all but releases are not private, and for curators."""
_NOT_SHARED = RefusedError(
    "this was released already, for others, and is not published",
    remedy="ask a curator, or ask for something else",
)
ENDED = ("done", "failed", "cancelled", "interrupted")
_LONGEST = 200_000


class InterruptedJobError(HeadcountError):
    """A job that ended with the server, or whose process did."""


@dataclass(frozen=True)
class Job:
    """What somebody asked for, and how far it is."""

    id: str
    kind: str
    dataset: str | None
    asker: str
    family: str | None
    asked: Mapping[str, Any]
    title: str
    state: str
    created: float
    started: float | None
    ended: float | None
    shown: float | None
    progress: Mapping[str, Any] | None
    outcome: Mapping[str, Any] | None
    entry: int | None
    cancelling: bool
    dataset_name: str | None
    asker_name: str
    by_curator: bool

    @property
    def is_over(self) -> bool:
        """Whether it has ended, as far as who looks is told."""
        return self.state in ENDED

    def visible_to(self, visitor: Visitor, now: float) -> Job:
        """Return what somebody is told of it: an analyst, before it is shown, that it runs."""
        if visitor.is_curator:
            return self
        hidden = replace(self, progress=None, entry=None)
        if self.shown is not None and self.shown <= now:
            return replace(hidden, started=None, ended=self.shown)
        return replace(hidden, state="running", started=None, ended=None, shown=None, outcome=None)


def visible_from(created: float, ended: float, step: float) -> float:
    """Return from when on an analyst sees how something ended: whole steps after it was asked for.

    >>> visible_from(100.0, 101.0, 15.0), visible_from(100.0, 115.0, 15.0), visible_from(100.0, 115.5, 15.0)
    (115.0, 115.0, 130.0)
    """
    return created + max(1, math.ceil((ended - created) / step)) * step if step > 0 else ended


class Jobs:
    """The queue of a studio; ``wake`` is called when there is something to do."""

    def __init__(
        self,
        limits: Limits,
        store: StudioDatabase,
        datasets: Datasets,
        clock: Callable[[], float] = time.time,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._limits, self._store, self._datasets, self._clock, self.wake = limits, store, datasets, clock, wake

    def ask(
        self,
        visitor: Visitor,
        *,
        kind: str = "release",
        dataset: str | None = None,
        family: str | None = None,
        asked: Mapping[str, Any] | None = None,
        title: str = "",
    ) -> Job:
        """Put something into the queue; when this returns it is kept, and will be worked on."""
        asker = signed_in_id(visitor)
        about = None if dataset is None else self._datasets.get(visitor, dataset)
        request_values = dict(asked or {})
        _check(visitor, kind, about, family, request_values)
        now, key = self._clock(), fresh_id()
        named = title.strip()[:120] or _title(kind, about, family)
        with self._store.writing() as run:
            self._check_room(run, asker, now)
            values = {"kind": kind, "dataset": dataset, "asker": asker, "family": family, "asked": request_values}
            run.execute(
                jobs.insert().values(id=key, title=named, state="waiting", created=now, cancelling=False, **values)
            )
            noted = {"job": key, "kind": kind, "family": family, "dataset": None if about is None else about.name}
            audit_log.append(run, visitor, "asked", now, noted)
        self.wake()
        return self.get(visitor, key)

    def _check_room(self, run: sa.Connection, asker: str, now: float) -> None:
        """Refuse more jobs than may wait; one not shown yet counts, since room would tell that it has ended."""
        unfinished = sa.or_(jobs.c.state.in_(("waiting", "running")), jobs.c.shown > now)
        waiting = sa.select(sa.func.count()).where(jobs.c.asker == asker, unfinished)
        most = self._limits.waiting
        if run.execute(waiting).scalar_one() >= most:
            raise TooManyError(f"{most} jobs of yours wait already", remedy="wait until they are done")

    def get(self, visitor: Visitor, job: str) -> Job:
        """Return a job; to an analyst as if there were none if it is not theirs."""
        with self._store.reading() as run:
            return self._mine(run, visitor, job).visible_to(visitor, self._clock())

    def listed(self, visitor: Visitor, *, dataset: str | None = None, most: int = 200) -> list[Job]:
        """Return the jobs that somebody sees, the newest first."""
        query = _select_jobs().order_by(jobs.c.created.desc(), jobs.c.id).limit(most)
        if not visitor.is_curator:
            query = query.where(jobs.c.asker == visitor.id)
        if dataset is not None:
            query = query.where(jobs.c.dataset == dataset)
        now = self._clock()
        with self._store.reading() as run:
            return [_job(row).visible_to(visitor, now) for row in run.execute(query)]

    def cancel(self, visitor: Visitor, job: str) -> Job:
        """Cancel a job: one that waits ends here, one that runs when its process was told."""
        now = self._clock()
        with self._store.writing() as run:
            held = self._mine(run, visitor, job)
            if held.visible_to(visitor, now).is_over:
                raise RefusedError("this job has ended already")
            if held.state in ENDED:  # the visitor does not know it yet, and must not learn it
                run.execute(released.delete().where(released.c.job == job, released.c.state == "own"))
                outcome = CancelledError.create(charged=held.entry is not None).to_json()
                run.execute(jobs.update().where(jobs.c.id == job).values(state="cancelled", outcome=outcome))
            elif held.state == "waiting":
                self._end(run, held, "cancelled", CancelledError.create(charged=False).to_json(), now)
            run.execute(jobs.update().where(jobs.c.id == job).values(cancelling=True))
            audit_log.append(run, visitor, "cancelled", now, {"job": job})
        self.wake()
        return self.get(visitor, job)

    def again(self, visitor: Visitor, job: str) -> Job:
        """Ask once more for what a job was asked for."""
        held = self.get(visitor, job)
        if not held.is_over:
            raise RefusedError("this job has not ended yet", remedy="wait for it, or cancel it")
        same = {name: getattr(held, name) for name in ("kind", "dataset", "family", "asked", "title")}
        return self.ask(visitor, **same)

    def take(self) -> Job | None:
        """Return the job that has waited longest, which runs from now on; None if nothing may begin.

        A job of an analyst does not begin as soon as another job has ended: its own end would then tell when that
        one did, and requests that cost nothing would measure it. It begins at the next whole step of the clock;
        until then, the jobs of curators go first. A job of a disabled account is not worked on, nor is a release
        of a closed dataset or for an analyst who is no member any more.
        """
        now = self._clock()
        with self._store.writing() as run:
            for refused in run.execute(_select_jobs().where(jobs.c.state == "waiting", _may_not_run())).all():
                self._end(run, _job(refused), "cancelled", CancelledError.create(charged=False).to_json(), now)
            waiting = _select_jobs().where(jobs.c.state == "waiting").order_by(jobs.c.created, jobs.c.id)
            if now < self._begins(run, now):
                waiting = waiting.where(accounts.c.role == str(Role.CURATOR))
            row = run.execute(waiting.limit(1)).first()
            if row is None:
                return None
            first = _job(row)
            run.execute(jobs.update().where(jobs.c.id == first.id).values(state="running", started=now))
            return replace(first, state="running", started=now)

    def _begins(self, run: sa.Connection, now: float) -> float:
        """Return from when on a job of an analyst may begin.

        An end in the future comes from a clock that was set back. It counts as now, so that it delays analysts by
        one step at most.
        """
        run.execute(jobs.update().where(jobs.c.ended > now).values(ended=now))
        worked_on = sa.select(sa.func.max(jobs.c.ended)).where(jobs.c.started.is_not(None))
        last = run.execute(worked_on).scalar()
        step = self._limits.step_seconds
        return 0.0 if last is None or step <= 0 else math.ceil(last / step) * step

    def running(self) -> list[Job]:
        """Return the jobs that run, or ran when the server ended."""
        with self._store.reading() as run:
            return [_job(row) for row in run.execute(_select_jobs().where(jobs.c.state == "running"))]

    def is_cancelling(self, job: str) -> bool:
        """Whether somebody wants a job to end."""
        with self._store.reading() as run:
            return bool(run.execute(sa.select(jobs.c.cancelling).where(jobs.c.id == job)).scalar())

    def entries(self, *, besides: str) -> set[int]:
        """Return the entries of the ledger that belong to jobs other than one."""
        others = sa.select(jobs.c.entry).where(jobs.c.entry.is_not(None), jobs.c.id != besides)
        with self._store.reading() as run:
            return set(run.execute(others).scalars())

    def note(self, job: str, **what: Any) -> None:
        """Note the entry or the progress of a job that runs."""
        with self._store.writing() as run:
            run.execute(jobs.update().where(jobs.c.id == job).values(**what))

    def wait_again(self, job: str) -> None:
        """Let a job wait again, of which nothing was charged."""
        self.note(job, state="waiting", started=None, progress=None)

    def end(
        self, job: str, state: str, outcome: Mapping[str, Any], *, release_files: Mapping[str, Any] | None = None
    ) -> None:
        """End a job; its release (``release_files``, folder and digest) is added in the same transaction."""
        now = self._clock()
        with self._store.writing() as run:
            held = _find_job(run, job)
            if held.state in ENDED:
                return
            final_outcome = dict(outcome)
            payer = final_outcome.pop("payer", None)
            is_earlier = release_files is not None and final_outcome.get("earlier")
            if is_earlier and not _may_see_earlier(run, held, str((release_files or {})["digest"]), payer):
                state, final_outcome, release_files = "failed", _NOT_SHARED.to_json(), None
            if release_files is not None and held.dataset is not None and held.family is not None:
                final_outcome["release"] = releases.add(
                    run, job=job, by_curator=held.by_curator, requested_at=held.created, dataset=held.dataset,
                    owner=held.asker, family=held.family, title=held.title, folder=str(release_files["folder"]),
                    digest=str(release_files["digest"]),
                )  # fmt: skip
            self._end(run, held, state, final_outcome, now)

    def _end(self, run: sa.Connection, held: Job, state: str, outcome: Mapping[str, Any], now: float) -> None:
        shown = now if held.by_curator else visible_from(held.created, now, self._limits.step_seconds)
        ended = {"state": state, "ended": now, "shown": shown, "outcome": dict(outcome), "progress": None}
        run.execute(jobs.update().where(jobs.c.id == held.id).values(**ended))

    def _mine(self, run: sa.Connection, visitor: Visitor, job: str) -> Job:
        held = _find_job(run, job)
        if not visitor.is_curator and held.asker != visitor.id:
            raise _unknown()
        return held


def _may_not_run() -> sa.ColumnElement[bool]:
    """Say of a job whether its asker is shut out, or may ask for no release of its dataset any more."""
    mine = sa.exists().where(members.c.dataset == jobs.c.dataset, members.c.person == jobs.c.asker)
    is_dismissed = sa.and_(accounts.c.role != str(Role.CURATOR), ~mine)
    return sa.or_(
        accounts.c.disabled, sa.and_(jobs.c.kind == "release", sa.or_(datasets.c.state != "open", is_dismissed))
    )


def _may_see_earlier(run: sa.Connection, held: Job, digest: str, payer: str | None) -> bool:
    """Whether somebody may have an earlier release: a curator, who paid for it, or all if it is published."""
    if held.by_curator or payer == held.asker_name:
        return True
    shared = sa.select(released.c.id).where(released.c.digest == digest, released.c.state == "published")
    return run.execute(shared).first() is not None


def _check(
    visitor: Visitor, kind: str, about: Dataset | None, family: str | None, request_values: Mapping[str, Any]
) -> None:
    """Refuse what can be refused without opening anything."""
    if kind not in KINDS:
        raise UnknownNameError.among("kind of work", kind, KINDS)
    if kind != "release" and not visitor.is_curator:
        raise NotAllowedError("this is not private, and for curators", remedy="ask a curator")
    if about is None and kind not in ("audit", "reproduce"):
        raise UsageError("no dataset is named", remedy="choose one")
    if len(json.dumps(request_values)) > _LONGEST:
        raise UsageError("this asks for too much at once", remedy="ask for less")
    if kind != "release" or about is None:
        return
    if family is None or family not in FAMILIES:
        raise UnknownNameError.among("family", family, FAMILIES)
    reads = FAMILIES[family].reads
    if about.reads != reads and {about.reads, reads} != {"events", "ratings"}:
        raise UsageError(f"{about.name} is a log of {about.reads}, and {family} are made of {reads}")
    if about.state != "open":
        raise RefusedError(f"{about.name} is not open", remedy="open it first" if visitor.is_curator else None)
    if not visitor.is_curator:
        for flag in CURATOR_READ_FLAGS:
            if flag in request_values and flag not in ANALYST_READ_FLAGS:
                raise NotAllowedError(f"{flag} is for curators to say", remedy="leave it out")


def _title(kind: str, about: Dataset | None, family: str | None) -> str:
    return " ".join(part for part in (family or kind, "of" if about else "", about.name if about else "") if part)


def _select_jobs() -> sa.Select[tuple[object, ...]]:
    query: sa.Select[tuple[object, ...]] = (
        sa.select(
            jobs,
            datasets.c.name.label("dataset_name"),
            accounts.c.name.label("asker_name"),
            (accounts.c.role == str(Role.CURATOR)).label("by_curator"),
        )
        .join(accounts, accounts.c.id == jobs.c.asker)
        .outerjoin(datasets, datasets.c.id == jobs.c.dataset)
    )
    return query


def _job(row: sa.Row[tuple[object, ...]]) -> Job:
    return Job(**{**row._mapping, "by_curator": bool(row._mapping["by_curator"])})


def _find_job(run: sa.Connection, job: str) -> Job:
    row = run.execute(_select_jobs().where(jobs.c.id == job)).first()
    if row is None:
        raise _unknown()
    return _job(row)


def _unknown() -> UnknownNameError:
    return UnknownNameError("there is no such job", remedy="look at the list of jobs")
