"""Releases of the studio: their folders, states and who may see them.

What a curator asked for is to be *reviewed*, then *published* or *withheld*. What an analyst paid for is their
*own*: they see it from when their job is shown, and nobody else does but curators, who may publish it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.studio.access import NotAllowedError, Visitor
from headcount.studio.security.secret_tokens import fresh_id
from headcount.studio.settings import Settings
from headcount.studio.store import audit_log
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.schema import datasets, jobs, releases, users

_TITLE = 120


@dataclass(frozen=True)
class StoredRelease:
    """A release, published or not."""

    id: str
    dataset: str
    job: str | None
    owner: str
    family: str
    title: str
    note: str
    folder: str
    digest: str
    state: str
    created: float
    published: float | None
    dataset_name: str
    owner_name: str


class Releases:
    """The releases of a studio."""

    def __init__(self, settings: Settings, store: StudioDatabase, clock: Callable[[], float] = time.time) -> None:
        self._settings, self._store, self._clock = settings, store, clock

    def get(self, visitor: Visitor, release: str) -> StoredRelease:
        """Return a release, as if there were none if it is not for who asks."""
        with self._store.reading() as run:
            row = run.execute(self._visible(visitor).where(releases.c.id == release)).first()
        if row is None:
            raise _unknown()
        return StoredRelease(**row._mapping)

    def listed(
        self, visitor: Visitor, *, dataset: str | None = None, state: str | None = None
    ) -> list[StoredRelease]:
        """Return the releases that somebody sees, the newest first."""
        query = self._visible(visitor).order_by(releases.c.created.desc(), releases.c.id)
        if dataset is not None:
            query = query.where(releases.c.dataset == dataset)
        if state is not None:
            query = query.where(releases.c.state == state)
        with self._store.reading() as run:
            return [StoredRelease(**row._mapping) for row in run.execute(query)]

    def of_job(self, visitor: Visitor, job: str) -> StoredRelease | None:
        """Return what a job made, if who asks sees it."""
        with self._store.reading() as run:
            row = run.execute(self._visible(visitor).where(releases.c.job == job)).first()
        return None if row is None else StoredRelease(**row._mapping)

    def publish(self, visitor: Visitor, release: str) -> StoredRelease:
        """Let every analyst see a release."""
        return self._turn(visitor, release, "published", "published")

    def withhold(self, visitor: Visitor, release: str) -> StoredRelease:
        """Let analysts see a release no longer, or never; what was charged for it stays charged."""
        return self._turn(visitor, release, "withheld", "withheld")

    def retitle(
        self, visitor: Visitor, release: str, *, title: str | None = None, note: str | None = None
    ) -> StoredRelease:
        """Change what a release is called, and what is said of it: curators, and analysts of their own."""
        held = self.get(visitor, release)
        if not visitor.is_curator and not (held.state == "own" and held.owner == visitor.id):
            raise NotAllowedError("this release is not yours", remedy="ask a curator")
        fields = {
            "title": held.title if title is None else title.strip(),
            "note": held.note if note is None else note,
        }
        if not fields["title"] or len(fields["title"]) > _TITLE or len(fields["note"]) > 10_000:
            raise UsageError(f"a title has 1 to {_TITLE} characters, and a note at most 10,000")
        with self._store.writing() as run:
            run.execute(releases.update().where(releases.c.id == release).values(**fields))
            audit_log.append(run, visitor, "renamed a release", self._clock(), {"release": release})
        return self.get(visitor, release)

    def folder_of(self, release: StoredRelease) -> Path:
        """Return where the tables of a release lie."""
        return self._settings.releases / release.folder

    def _turn(self, visitor: Visitor, release: str, state: str, deed: str) -> StoredRelease:
        if not visitor.is_curator:
            raise NotAllowedError("this is for curators", remedy="ask a curator")
        now = self._clock()
        held = self.get(visitor, release)
        if held.state == state:
            raise RefusedError(f"this release is {state} already")
        with self._store.writing() as run:
            when = {"published": now} if state == "published" else {}
            run.execute(releases.update().where(releases.c.id == release).values(state=state, **when))
            audit_log.append(run, visitor, deed, now, {"release": release, "title": held.title})
        return self.get(visitor, release)

    def _visible(self, visitor: Visitor) -> sa.Select[tuple[object, ...]]:
        """Ask for what somebody sees: of analysts, what is published, and their own once it is shown."""
        query: sa.Select[tuple[object, ...]] = (
            sa.select(releases, datasets.c.name.label("dataset_name"), users.c.name.label("owner_name"))
            .join(datasets, datasets.c.id == releases.c.dataset)
            .join(users, users.c.id == releases.c.owner)
            .outerjoin(jobs, jobs.c.id == releases.c.job)
        )
        if visitor.is_curator:
            return query
        shown = sa.or_(releases.c.job.is_(None), jobs.c.shown <= self._clock())
        own = sa.and_(releases.c.state == "own", releases.c.owner == visitor.id, shown)
        return query.where(sa.or_(releases.c.state == "published", own))


def add(
    run: sa.Connection, *, dataset: str, job: str, owner: str, by_curator: bool, family: str, title: str,
    folder: str, digest: str, requested_at: float,
) -> str:  # fmt: skip
    """Add what a job has made, in the transaction that ends it; once, however often it is said.

    It is dated by when it was ``requested_at`` for: when it was made would tell its asker how long the work took.
    """
    held = run.execute(sa.select(releases.c.id).where(releases.c.job == job)).scalar()
    if held is not None:
        return str(held)
    key = fresh_id()
    run.execute(
        releases.insert().values(
            id=key,
            dataset=dataset,
            job=job,
            owner=owner,
            family=family,
            title=title,
            note="",
            folder=folder,
            digest=digest,
            state="review" if by_curator else "own",
            created=requested_at,
        )
    )
    return key


def _unknown() -> UnknownNameError:
    return UnknownNameError("there is no such release", remedy="look at the list of releases")
