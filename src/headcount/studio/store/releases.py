"""Releases of the studio: their folders, states and who may see them.

A release that a curator requested is to be *reviewed*, then *published* or *withheld*. A release that an analyst
requested is their *own*: they see it from when their job is shown. Curators see it too, and may publish it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.studio.access import NotAllowedError, Visitor, check_curator
from headcount.studio.security.secrets import fresh_id
from headcount.studio.settings import Settings
from headcount.studio.store import audit_log
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.schema import accounts, datasets, jobs, releases

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
        """Return a release; to a visitor who may not see it, as if there were none."""
        with self._store.reading() as run:
            row = run.execute(self._visible(visitor).where(releases.c.id == release)).first()
        if row is None:
            raise UnknownNameError("there is no such release", remedy="look at the list of releases")
        return StoredRelease(**row._mapping)

    def listed(self, visitor: Visitor, *, dataset: str | None = None) -> list[StoredRelease]:
        """Return the releases that a visitor sees, the newest first."""
        query = self._visible(visitor).order_by(releases.c.created.desc(), releases.c.id)
        if dataset is not None:
            query = query.where(releases.c.dataset == dataset)
        with self._store.reading() as run:
            return [StoredRelease(**row._mapping) for row in run.execute(query)]

    def of_job(self, visitor: Visitor, job: str) -> StoredRelease | None:
        """Return the release of a job, if the visitor sees it."""
        with self._store.reading() as run:
            row = run.execute(self._visible(visitor).where(releases.c.job == job)).first()
        return None if row is None else StoredRelease(**row._mapping)

    def publish(self, visitor: Visitor, release: str) -> StoredRelease:
        """Let every analyst see a release."""
        return self._set_state(visitor, release, "published")

    def withhold(self, visitor: Visitor, release: str) -> StoredRelease:
        """Let analysts see a release no longer, or never; what was charged for it stays charged."""
        return self._set_state(visitor, release, "withheld")

    def retitle(
        self, visitor: Visitor, release: str, *, title: str | None = None, note: str | None = None
    ) -> StoredRelease:
        """Change title and note of a release: curators, and analysts of their own."""
        held = self.get(visitor, release)
        if not visitor.is_curator and not (held.state == "own" and held.owner == visitor.id):
            raise NotAllowedError("this release is not yours", remedy="ask a curator")
        named = held.title if title is None else title.strip()
        fields = {"title": named, "note": held.note if note is None else note}
        if not fields["title"] or len(fields["title"]) > _TITLE or len(fields["note"]) > 10_000:
            raise UsageError(f"a title has 1 to {_TITLE} characters, and a note at most 10,000")
        with self._store.writing() as run:
            run.execute(releases.update().where(releases.c.id == release).values(**fields))
            audit_log.append(run, visitor, "renamed a release", self._clock(), {"release": release})
        return self.get(visitor, release)

    def folder_of(self, release: StoredRelease) -> Path:
        """Return where the tables of a release lie."""
        return self._settings.releases / release.folder

    def _set_state(self, visitor: Visitor, release: str, state: str) -> StoredRelease:
        check_curator(visitor)
        now = self._clock()
        held = self.get(visitor, release)
        if held.state == state:
            raise RefusedError(f"this release is {state} already")
        with self._store.writing() as run:
            when = {"published": now} if state == "published" else {}
            run.execute(releases.update().where(releases.c.id == release).values(state=state, **when))
            audit_log.append(run, visitor, state, now, {"release": release, "title": held.title})
        return self.get(visitor, release)

    def _visible(self, visitor: Visitor) -> sa.Select[tuple[object, ...]]:
        """Select what a visitor sees: of analysts, published releases, and their own once they are shown."""
        query: sa.Select[tuple[object, ...]] = (
            sa.select(releases, datasets.c.name.label("dataset_name"), accounts.c.name.label("owner_name"))
            .join(datasets, datasets.c.id == releases.c.dataset)
            .join(accounts, accounts.c.id == releases.c.owner)
            .outerjoin(jobs, jobs.c.id == releases.c.job)
        )
        if visitor.is_curator:
            return query
        shown = sa.or_(releases.c.job.is_(None), jobs.c.shown <= self._clock())
        own = sa.and_(releases.c.state == "own", releases.c.owner == visitor.id, shown)
        return query.where(sa.or_(releases.c.state == "published", own))


def add(run: sa.Connection, *, job: str, by_curator: bool, requested_at: float, **fields: str) -> str:
    """Add the release of a job, in the transaction that ends it; only once if it is called again.

    ``fields`` are dataset, owner, family, title, folder and digest. It is dated by when it was ``requested_at``:
    the time when it was finished would show its asker how long the work took.
    """
    held = run.execute(sa.select(releases.c.id).where(releases.c.job == job)).scalar()
    if held is not None:
        return str(held)
    key, state = fresh_id(), "review" if by_curator else "own"
    run.execute(releases.insert().values(id=key, job=job, note="", state=state, created=requested_at, **fields))
    return key
