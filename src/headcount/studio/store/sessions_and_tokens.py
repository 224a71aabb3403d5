"""Credentials of accounts: browser sessions with an expiry, and revocable API tokens of programs.

A secret is shown once and stored as a digest.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.studio.security.secrets import digest_of, fresh_id, fresh_secret
from headcount.studio.store.schema import sessions, tokens

SESSION_SECONDS = 12 * 3600.0
"""Seconds after which one signs in again."""
PREFIX = "hc_"
"""The beginning of each token, so that one is recognised where it does not belong."""
_MOST_TOKENS = 50
_LAST_USED_SECONDS = 60.0
"""Seconds after which the use of a token is noted again: not at every request."""


@dataclass(frozen=True)
class Session:
    """A session that was just begun: its secret is for the cookie, and is not kept."""

    secret: str
    csrf: str


@dataclass(frozen=True)
class Token:
    """A token as its account sees it; the secret is not kept."""

    id: str
    label: str
    created: float
    last_used: float | None
    revoked: float | None


def begin_session(run: sa.Connection, person: str, now: float) -> Session:
    """Begin a session of an account, and forget those that ended."""
    session = Session(fresh_secret(), fresh_secret())
    run.execute(sessions.delete().where(sessions.c.expires <= now))
    values = {"digest": digest_of(session.secret), "person": person, "csrf": session.csrf}
    run.execute(sessions.insert().values(**values, created=now, expires=now + SESSION_SECONDS))
    return session


def find_session(run: sa.Connection, secret: str, now: float) -> tuple[str, str] | None:
    """Return the account and the CSRF token of a session, None if there is none or it has ended."""
    held = sessions.select().where(sessions.c.digest == digest_of(secret), sessions.c.expires > now)
    row = run.execute(held).first()
    return None if row is None else (row.person, row.csrf)


def end_session(run: sa.Connection, secret: str) -> None:
    """End one session."""
    run.execute(sessions.delete().where(sessions.c.digest == digest_of(secret)))


def end_sessions(run: sa.Connection, person: str) -> None:
    """End all sessions of an account."""
    run.execute(sessions.delete().where(sessions.c.person == person))


def make_token(run: sa.Connection, person: str, label: str, now: float) -> tuple[Token, str]:
    """Make a token of an account, and return it with its secret."""
    label = label.strip()
    if not label or len(label) > 80 or not label.isprintable():
        raise UsageError("a token has a label of 1 to 80 printable characters", remedy="say what it is for")
    if sum(existing.revoked is None for existing in list_tokens(run, person)) >= _MOST_TOKENS:
        raise RefusedError(
            f"a person has at most {_MOST_TOKENS} tokens", remedy="revoke those that are not needed"
        )
    secret = PREFIX + fresh_secret()
    token = Token(fresh_id(), label, now, None, None)
    run.execute(
        tokens.insert().values(id=token.id, person=person, label=label, digest=digest_of(secret), created=now)
    )
    return token, secret


def find_token(run: sa.Connection, secret: str) -> sa.Row[tuple[object, ...]] | None:
    """Return the row of a token that is not revoked."""
    return run.execute(
        tokens.select().where(tokens.c.digest == digest_of(secret), tokens.c.revoked.is_(None))
    ).first()


def is_stale(last_used: float | None, now: float) -> bool:
    """Whether the use of a token is worth noting."""
    return last_used is None or now - last_used >= _LAST_USED_SECONDS


def note_token_use(run: sa.Connection, token: str, now: float) -> None:
    """Note that a token was used."""
    run.execute(tokens.update().where(tokens.c.id == token).values(last_used=now))


def list_tokens(run: sa.Connection, person: str) -> list[Token]:
    """Return the tokens of an account, the newest first."""
    rows = run.execute(sa.select(tokens).where(tokens.c.person == person).order_by(tokens.c.created.desc()))
    return [Token(row.id, row.label, row.created, row.last_used, row.revoked) for row in rows]


def revoke_token(run: sa.Connection, person: str, token: str, now: float) -> None:
    """Revoke a token of this account; another's is not known."""
    mine = (tokens.c.id == token) & (tokens.c.person == person)
    if run.execute(sa.select(tokens.c.id).where(mine)).first() is None:
        raise UnknownNameError("there is no such token", remedy="look at your account")
    run.execute(tokens.update().where(mine, tokens.c.revoked.is_(None)).values(revoked=now))


def revoke_tokens(run: sa.Connection, person: str, now: float) -> None:
    """Revoke all tokens of an account."""
    run.execute(tokens.update().where(tokens.c.person == person, tokens.c.revoked.is_(None)).values(revoked=now))
