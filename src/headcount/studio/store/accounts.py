"""Accounts of the studio: invitations, passwords, sessions and tokens (not users of a log or ledger accounts).

A refused sign-in does not say whether the name or the password is wrong: words and time are the same for an
unknown name.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.studio.access import NotSignedInError, Role, Visitor, refuse_token, signed_in_id
from headcount.studio.security.secrets import check_password, digest_of, fresh_id, fresh_secret, hashed, matches
from headcount.studio.store import audit_log, sessions_and_tokens, throttling
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.schema import accounts, invitations
from headcount.studio.store.sessions_and_tokens import Session, Token

INVITATION_SECONDS = 7 * 24 * 3600.0
"""Seconds in which an invitation can be taken up."""
_FIRST = "curator"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Account:
    """An account, which may sign in unless it is disabled or only invited yet."""

    id: str
    name: str
    role: Role
    created: float
    disabled: bool
    invited: bool
    """Whether it has no password yet."""

    def visitor(self, csrf: str = "", *, by_token: bool = False) -> Visitor:
        """Return the account as the visitor of a request."""
        return Visitor(self.id, self.name, self.role, csrf, by_token)


class Accounts:
    """All accounts of a studio."""

    def __init__(self, store: StudioDatabase, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def create(self, name: str, role: Role, password: str) -> Account:
        """Make an account that can sign in at once; for a demonstration and for tests: others are invited."""
        check_password(password, name)
        kept = hashed(password)
        with self._store.writing() as run:
            return _add_account(run, name, role, self._clock(), kept)

    def invite(self, visitor: Visitor, name: str, role: Role) -> tuple[Account, str]:
        """Invite an account, and return it with the secret of its link, which is not kept."""
        refuse_token(visitor, "a token invites no users")
        now = self._clock()
        with self._store.writing() as run:
            account = _add_account(run, name, role, now, None)
            audit_log.append(run, visitor, "invited", now, {"person": account.name, "role": str(role)})
            return account, _invitation(run, account.id, visitor.id, now)

    def reset(self, visitor: Visitor, person: str) -> str:
        """Take password, sessions and tokens from an account, and return the secret of a link to choose anew."""
        refuse_token(visitor, "a token resets no users")
        now = self._clock()
        with self._store.writing() as run:
            _shut_out(run, visitor, person, "reset", now, password=None)
            return _invitation(run, person, visitor.id, now)

    def disable(self, visitor: Visitor, person: str) -> None:
        """Disable an account: sessions and tokens end at once."""
        refuse_token(visitor, "a token disables no users")
        with self._store.writing() as run:
            _shut_out(run, visitor, person, "disabled", self._clock(), disabled=True)

    def enable(self, visitor: Visitor, person: str) -> None:
        """Enable an account again, with the password it had."""
        refuse_token(visitor, "a token enables no users")
        with self._store.writing() as run:
            account = _get(run, person)
            _update(run, person, disabled=False)
            audit_log.append(run, visitor, "enabled", self._clock(), {"person": account.name})

    def set_up(self) -> str | None:
        """Return the secret of the first curator's link; None once an account can sign in."""
        now = self._clock()
        with self._store.writing() as run:
            if run.execute(sa.select(accounts.c.id).where(accounts.c.password.is_not(None))).first() is not None:
                return None
            curators = sa.select(accounts.c.id).where(accounts.c.role == str(Role.CURATOR), ~accounts.c.disabled)
            first = run.execute(curators.order_by(accounts.c.created)).scalar()
            return _invitation(run, first or _add_account(run, _FIRST, Role.CURATOR, now, None).id, None, now)

    def invited(self, secret: str) -> tuple[Account, bool]:
        """Return whom a link invites, and whether it is the first curator, who chooses a name."""
        with self._store.reading() as run:
            return _invited(run, secret, self._clock())

    def accept(self, secret: str, password: str, name: str | None = None) -> Session:
        """Take up an invitation: set the password, and begin a session. The first curator chooses a name, too."""
        now = self._clock()
        check_password(password, name or self.invited(secret)[0].name)
        kept = hashed(password)
        with self._store.writing() as run:
            account, first = _invited(run, secret, now)  # once more: no other writer runs now
            chosen = _checked_name(name) if first and name else account.name
            if chosen != account.name:
                _check_free(run, chosen)
            _update(run, account.id, password=kept, name=chosen)
            run.execute(invitations.update().where(invitations.c.digest == digest_of(secret)).values(used=now))
            audit_log.append(run, _get(run, account.id).visitor(), "took up an invitation", now, {})
            return sessions_and_tokens.begin_session(run, account.id, now)

    def sign_in(
        self, name: str, password: str, address: str, earlier: str | None = None, browser: str | None = None
    ) -> Session:
        """Begin a session if the password is right; an earlier one of the same browser ends.

        ``browser`` is the cookie of a browser that signed in with this name before.
        """
        now = self._clock()
        with self._store.writing() as run:
            throttling.count_attempt(run, name, address, now, browser)
            row = run.execute(sa.select(accounts).where(accounts.c.name == _plain(name))).first()
        right = matches(None if row is None or row.disabled else row.password, password)
        with self._store.writing() as run:
            if row is not None and right:
                throttling.forgive_attempts(run, name, address, browser)
                if earlier is not None:
                    sessions_and_tokens.end_session(run, earlier)
                audit_log.append(run, _account(row).visitor(), "signed in", now, {"address": address})
                return sessions_and_tokens.begin_session(run, row.id, now)
            who = Visitor() if row is None else Visitor(row.id, row.name)
            audit_log.append(run, who, "failed to sign in", now, {"address": address})
        raise NotSignedInError("the name or the password is not right", remedy="try again, or ask a curator")

    def sign_out(self, visitor: Visitor, secret: str) -> None:
        """End a session."""
        with self._store.writing() as run:
            sessions_and_tokens.end_session(run, secret)
            audit_log.append(run, visitor, "signed out", self._clock(), {})

    def change_password(
        self, visitor: Visitor, old: str, new: str, address: str, browser: str | None = None
    ) -> Session:
        """Change one's own password: every session ends, and a new one begins."""
        now = self._clock()
        account = self.get(signed_in_id(visitor))
        check_password(new, account.name)
        with self._store.writing() as run:
            throttling.count_attempt(run, account.name, address, now, browser)
            held = run.execute(sa.select(accounts.c.password).where(accounts.c.id == account.id)).scalar()
        if not matches(held, old):
            raise UsageError("this is not your password", remedy="type the one that you signed in with")
        kept = hashed(new)
        with self._store.writing() as run:
            throttling.forgive_attempts(run, account.name, address, browser)
            _update(run, account.id, password=kept)
            sessions_and_tokens.end_sessions(run, account.id)
            audit_log.append(run, visitor, "changed the password", now, {})
            return sessions_and_tokens.begin_session(run, account.id, now)

    def of_session(self, secret: str) -> Visitor | None:
        """Return the visitor of a session, None if it has ended or the account is disabled."""
        with self._store.reading() as run:
            session = sessions_and_tokens.find_session(run, secret, self._clock())
            account = None if session is None else _get(run, session[0])
        return None if session is None or account is None or account.disabled else account.visitor(session[1])

    def of_token(self, secret: str) -> Visitor | None:
        """Return the visitor of a token, None if it was revoked or the account is disabled."""
        now = self._clock()
        with self._store.reading() as run:
            token = sessions_and_tokens.find_token(run, secret)
            account = None if token is None else _get(run, token.person)
        if token is None or account is None or account.disabled:
            return None
        if sessions_and_tokens.is_stale(token.last_used, now):
            with self._store.writing() as run:
                sessions_and_tokens.note_token_use(run, token.id, now)
        return account.visitor(by_token=True)

    def make_token(self, visitor: Visitor, label: str) -> tuple[Token, str]:
        """Make a token of one's own, and return it with its secret, which is not kept."""
        now = self._clock()
        refuse_token(visitor, "a token makes no tokens")
        with self._store.writing() as run:
            token, secret = sessions_and_tokens.make_token(run, signed_in_id(visitor), label, now)
            audit_log.append(run, visitor, "made a token", now, {"token": token.id, "label": token.label})
            return token, secret

    def tokens(self, visitor: Visitor) -> list[Token]:
        """Return one's own tokens."""
        with self._store.reading() as run:
            return sessions_and_tokens.list_tokens(run, signed_in_id(visitor))

    def revoke(self, visitor: Visitor, token: str) -> None:
        """Revoke a token of one's own."""
        now = self._clock()
        with self._store.writing() as run:
            sessions_and_tokens.revoke_token(run, signed_in_id(visitor), token, now)
            audit_log.append(run, visitor, "revoked a token", now, {"token": token})

    def get(self, person: str) -> Account:
        """Return an account by id."""
        with self._store.reading() as run:
            return _get(run, person)

    def listed(self) -> list[Account]:
        """Return all accounts, by name."""
        with self._store.reading() as run:
            return [_account(row) for row in run.execute(sa.select(accounts).order_by(accounts.c.name))]


def _shut_out(
    run: sa.Connection, visitor: Visitor, person: str, deed: str, now: float, **changes: str | bool | None
) -> None:
    """Change an account so that nothing it has lets anyone in any more.

    There is always a curator who can sign in, also if two shut out each other at once.
    """
    account = _get(run, person)
    if visitor.id == person:
        raise RefusedError("nobody shuts themselves out", remedy="ask another curator")
    curator = _get(run, signed_in_id(visitor))
    if curator.disabled or curator.invited:
        raise NotSignedInError("you are shut out yourself", remedy="ask a curator")
    _update(run, person, **changes)
    sessions_and_tokens.end_sessions(run, person)
    sessions_and_tokens.revoke_tokens(run, person, now)
    run.execute(invitations.update().where(invitations.c.person == person).values(used=now))
    audit_log.append(run, visitor, deed, now, {"person": account.name})


def _add_account(run: sa.Connection, name: str, role: Role, now: float, password: str | None) -> Account:
    name = _checked_name(name)
    _check_free(run, name)
    fields = {"id": fresh_id(), "name": name, "role": str(role), "created": now, "disabled": False}
    run.execute(accounts.insert().values(password=password, **fields))
    return _get(run, str(fields["id"]))


def _update(run: sa.Connection, person: str, **changes: str | bool | None) -> None:
    run.execute(accounts.update().where(accounts.c.id == person).values(**changes))


def _checked_name(name: str) -> str:
    if not _plain(name):
        raise UsageError(
            "a name has 1 to 64 letters a to z, digits, dots, dashes and underscores, and no sign in front",
            given=name.strip().casefold()[:80],
            remedy="for example ann.lee",
        )
    return _plain(name)


def _plain(name: str) -> str:
    """Return a name as it is kept; "" for a text that cannot be a name."""
    name = name.strip().casefold()
    return name if _NAME.fullmatch(name) else ""


def _check_free(run: sa.Connection, name: str) -> None:
    if run.execute(sa.select(accounts.c.id).where(accounts.c.name == name)).first() is not None:
        raise RefusedError(f"there is somebody of the name {name}", remedy="choose another name")


def _account(row: sa.Row[tuple[object, ...]]) -> Account:
    return Account(row.id, row.name, Role(row.role), row.created, row.disabled, row.password is None)


def _get(run: sa.Connection, person: str) -> Account:
    row = run.execute(sa.select(accounts).where(accounts.c.id == person)).first()
    if row is None:
        raise UnknownNameError("there is no such person", remedy="look at the list of people")
    return _account(row)


def _invitation(run: sa.Connection, person: str, by: str | None, now: float) -> str:
    """Make the one valid invitation of an account."""
    secret = fresh_secret()
    run.execute(invitations.delete().where(invitations.c.person == person))
    values = {"digest": digest_of(secret), "person": person, "made_by": by}
    run.execute(invitations.insert().values(**values, expires=now + INVITATION_SECONDS))
    return secret


def _invited(run: sa.Connection, secret: str, now: float) -> tuple[Account, bool]:
    row = run.execute(sa.select(invitations).where(invitations.c.digest == digest_of(secret))).first()
    account = None if row is None else _get(run, row.person)
    if row is None or account is None or row.used is not None or row.expires <= now or account.disabled:
        raise UnknownNameError("this link is not, or no longer, an invitation", remedy="ask a curator for another")
    return account, row.made_by is None
