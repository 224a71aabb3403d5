"""The audit log of the studio: append-only entries of who did what."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from headcount.studio.access import Visitor
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.schema import audit_entries


@dataclass(frozen=True)
class AuditEntry:
    """What somebody did; nobody who is known has no person and no name."""

    number: int
    at: float
    person: str | None
    name: str
    deed: str
    about: dict[str, Any]


class AuditLog:
    """The audit log of a studio."""

    def __init__(self, store: StudioDatabase, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def note(self, visitor: Visitor, deed: str, /, **about: Any) -> None:
        """Note what a visitor did; never a secret, and of a log no more than its name."""
        with self._store.writing() as run:
            append(run, visitor, deed, self._clock(), about)

    def listed(self, *, before: int | None = None, most: int = 100, person: str | None = None) -> list[AuditEntry]:
        """Return deeds, the newest first: those before a number, or of one person."""
        query = sa.select(audit_entries).order_by(audit_entries.c.number.desc()).limit(most)
        if before is not None:
            query = query.where(audit_entries.c.number < before)
        if person is not None:
            query = query.where(audit_entries.c.person == person)
        with self._store.reading() as run:
            return [AuditEntry(**row._mapping) for row in run.execute(query)]


def append(run: sa.Connection, visitor: Visitor, deed: str, now: float, about: dict[str, Any]) -> None:
    """Append a deed in a transaction that does more: both are kept, or none is."""
    run.execute(
        audit_entries.insert().values(at=now, person=visitor.id, name=visitor.name, deed=deed, about=about)
    )
