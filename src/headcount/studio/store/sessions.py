"""Browser sessions with an expiry, so that a cookie is worthless after sign-out."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from headcount.studio.security.secret_tokens import digest_of, fresh_secret
from headcount.studio.store.schema import sessions

SESSION_SECONDS = 12 * 3600.0
"""Seconds after which one signs in again."""


@dataclass(frozen=True)
class Session:
    """A session that was just begun: its secret is for the cookie, and is not kept."""

    secret: str
    csrf: str


def begin(run: sa.Connection, person: str, now: float) -> Session:
    """Begin a session of a person, and forget those that ended."""
    session = Session(fresh_secret(), fresh_secret())
    run.execute(sessions.delete().where(sessions.c.expires <= now))
    run.execute(
        sessions.insert().values(
            digest=digest_of(session.secret),
            person=person,
            csrf=session.csrf,
            created=now,
            expires=now + SESSION_SECONDS,
        )
    )
    return session


def find(run: sa.Connection, secret: str, now: float) -> tuple[str, str] | None:
    """Return the person and the CSRF token of a session, None if there is none or it has ended."""
    held = sa.select(sessions.c.person, sessions.c.csrf).where(
        sessions.c.digest == digest_of(secret), sessions.c.expires > now
    )
    row = run.execute(held).first()
    return None if row is None else (row.person, row.csrf)


def end(run: sa.Connection, secret: str) -> None:
    """End one session."""
    run.execute(sessions.delete().where(sessions.c.digest == digest_of(secret)))


def end_all(run: sa.Connection, person: str) -> None:
    """End all sessions of a person."""
    run.execute(sessions.delete().where(sessions.c.person == person))
