"""API tokens of programs: shown once, stored as a digest, revocable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.studio.security.secret_tokens import digest_of, fresh_id, fresh_secret
from headcount.studio.store.schema import tokens

PREFIX = "hc_"
"""What each begins with, so that one is recognised where it does not belong."""
_MOST = 50
_LAST_USED_SECONDS = 60.0


@dataclass(frozen=True)
class Token:
    """A token as its person sees it; the secret is not kept."""

    id: str
    label: str
    created: float
    last_used: float | None
    revoked: float | None


class TokenOwner(NamedTuple):
    """Whose a token is, and when it was used."""

    id: str
    person: str
    last_used: float | None


def make(run: sa.Connection, person: str, label: str, now: float) -> tuple[Token, str]:
    """Make a token of a person, and return it with its secret."""
    label = label.strip()
    if not label or len(label) > 80 or not label.isprintable():
        raise UsageError("a token has a label of 1 to 80 printable characters", remedy="say what it is for")
    if sum(existing.revoked is None for existing in listed(run, person)) >= _MOST:
        raise RefusedError(f"a person has at most {_MOST} tokens", remedy="revoke those that are not needed")
    secret = PREFIX + fresh_secret()
    token = Token(fresh_id(), label, now, None, None)
    run.execute(
        tokens.insert().values(id=token.id, person=person, label=label, digest=digest_of(secret), created=now)
    )
    return token, secret


def find(run: sa.Connection, secret: str) -> TokenOwner | None:
    """Return a token that is not revoked."""
    held = sa.select(tokens.c.id, tokens.c.person, tokens.c.last_used).where(
        tokens.c.digest == digest_of(secret), tokens.c.revoked.is_(None)
    )
    row = run.execute(held).first()
    return None if row is None else TokenOwner(row.id, row.person, row.last_used)


def is_stale(last_used: float | None, now: float) -> bool:
    """Whether the use of a token is worth noting: not at every request."""
    return last_used is None or now - last_used >= _LAST_USED_SECONDS


def note_use(run: sa.Connection, token: str, now: float) -> None:
    """Note that a token was used."""
    run.execute(tokens.update().where(tokens.c.id == token).values(last_used=now))


def listed(run: sa.Connection, person: str) -> list[Token]:
    """Return the tokens of a person, the newest first."""
    rows = run.execute(sa.select(tokens).where(tokens.c.person == person).order_by(tokens.c.created.desc()))
    return [Token(row.id, row.label, row.created, row.last_used, row.revoked) for row in rows]


def revoke(run: sa.Connection, person: str, token: str, now: float) -> None:
    """Revoke a token of this person; another's is not known."""
    mine = (tokens.c.id == token) & (tokens.c.person == person)
    if run.execute(sa.select(tokens.c.id).where(mine)).first() is None:
        raise UnknownNameError("there is no such token", remedy="look at your account")
    run.execute(tokens.update().where(mine, tokens.c.revoked.is_(None)).values(revoked=now))


def revoke_all(run: sa.Connection, person: str, now: float) -> None:
    """Revoke all tokens of a person."""
    run.execute(tokens.update().where(tokens.c.person == person, tokens.c.revoked.is_(None)).values(revoked=now))
