"""Accounts of the studio: invitations, passwords, sessions and tokens (not the users of a log).

What is wrong with a name or a password is not told: words and time are the same for a name that nobody has.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from headcount.errors import RefusedError, UnknownNameError, UsageError
from headcount.studio.access import NotSignedInError, Role, Visitor, refuse_token
from headcount.studio.security.passwords import check_password, hashed, matches
from headcount.studio.security.secret_tokens import digest_of, fresh_id, fresh_secret
from headcount.studio.store import audit_log, sessions, throttling, tokens
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.schema import invitations, users
from headcount.studio.store.sessions import Session
from headcount.studio.store.tokens import Token

INVITATION_SECONDS = 7 * 24 * 3600.0
"""Seconds in which an invitation can be taken up."""
_FIRST = "curator"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class User:
    """Somebody who may sign in, unless they are disabled or were only invited yet."""

    id: str
    name: str
    role: Role
    created: float
    disabled: bool
    invited: bool
    """Whether they have no password yet."""

    def visitor(self, csrf: str = "", *, by_token: bool = False) -> Visitor:
        """Return this person as one who asks."""
        return Visitor(self.id, self.name, self.role, csrf, by_token)


class Users:
    """Everybody who is known to a studio."""

    def __init__(self, store: StudioDatabase, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def create(self, name: str, role: Role, password: str) -> User:
        """Make somebody who can sign in at once; for a demonstration and for tests: others are invited."""
        check_password(password, name)
        kept = hashed(password)
        with self._store.writing() as run:
            return _add_user(run, name, role, self._clock(), kept)

    def invite(self, visitor: Visitor, name: str, role: Role) -> tuple[User, str]:
        """Invite somebody, and return them with the secret of their link, which is not kept."""
        refuse_token(visitor, "a token invites no users")
        now = self._clock()
        with self._store.writing() as run:
            person = _add_user(run, name, role, now, None)
            audit_log.append(run, visitor, "invited", now, {"person": person.name, "role": str(role)})
            return person, _invitation(run, person.id, visitor.id, now)

    def reset(self, visitor: Visitor, person: str) -> str:
        """Take password, sessions and tokens from somebody, and return the secret of a link to choose anew."""
        refuse_token(visitor, "a token resets no users")
        now = self._clock()
        with self._store.writing() as run:
            user = _get(run, person)
            _check_shutting_out(run, visitor, user)
            run.execute(users.update().where(users.c.id == person).values(password=None))
            _shut_out(run, person, now)
            audit_log.append(run, visitor, "reset", now, {"person": user.name})
            return _invitation(run, person, visitor.id, now)

    def set_up(self) -> str | None:
        """Return the secret of the first curator's link; None once somebody can sign in."""
        now = self._clock()
        with self._store.writing() as run:
            if run.execute(sa.select(users.c.id).where(users.c.password.is_not(None))).first() is not None:
                return None
            curators = sa.select(users.c.id).where(users.c.role == str(Role.CURATOR), ~users.c.disabled)
            first = run.execute(curators.order_by(users.c.created)).scalar()
            return _invitation(run, first or _add_user(run, _FIRST, Role.CURATOR, now, None).id, None, now)

    def invited(self, secret: str) -> User:
        """Return whom a link invites."""
        with self._store.reading() as run:
            return _invited(run, secret, self._clock())[0]

    def is_first(self, secret: str) -> bool:
        """Whether a link is that of the first curator, who chooses a name."""
        with self._store.reading() as run:
            return _invited(run, secret, self._clock())[1]

    def accept(self, secret: str, password: str, name: str | None = None) -> Session:
        """Take up an invitation: set the password, and begin a session. The first curator chooses a name, too."""
        now = self._clock()
        person = self.invited(secret)
        check_password(password, name or person.name)
        kept = hashed(password)
        with self._store.writing() as run:
            person, first = _invited(run, secret, now)  # once more: nobody writes beside
            chosen = _checked_name(name) if first and name else person.name
            if chosen != person.name:
                _check_free(run, chosen)
            run.execute(users.update().where(users.c.id == person.id).values(password=kept, name=chosen))
            run.execute(invitations.update().where(invitations.c.digest == digest_of(secret)).values(used=now))
            audit_log.append(run, _get(run, person.id).visitor(), "took up an invitation", now, {})
            return sessions.begin(run, person.id, now)

    def sign_in(
        self, name: str, password: str, address: str, earlier: str | None = None, browser: str | None = None
    ) -> Session:
        """Begin a session if the password is right; an earlier one of the same browser ends.

        ``browser`` is the cookie of a browser that signed in with this name before.
        """
        now = self._clock()
        with self._store.writing() as run:
            throttling.count_attempt(run, name, address, now, browser)
            held = run.execute(sa.select(users).where(users.c.name == _plain(name))).first()
        right = matches(None if held is None or held.disabled else held.password, password)
        with self._store.writing() as run:
            if held is None or not right:
                who = Visitor() if held is None else Visitor(held.id, held.name)
                audit_log.append(run, who, "failed to sign in", now, {"address": address})
            else:
                throttling.forgive_attempts(run, name, address, browser)
                if earlier is not None:
                    sessions.end(run, earlier)
                audit_log.append(run, _user_of(held).visitor(), "signed in", now, {"address": address})
                return sessions.begin(run, held.id, now)
        raise NotSignedInError("the name or the password is not right", remedy="try again, or ask a curator")

    def sign_out(self, visitor: Visitor, secret: str) -> None:
        """End a session."""
        with self._store.writing() as run:
            sessions.end(run, secret)
            audit_log.append(run, visitor, "signed out", self._clock(), {})

    def change_password(
        self, visitor: Visitor, old: str, new: str, address: str, browser: str | None = None
    ) -> Session:
        """Change one's own password: every session ends, and a new one begins."""
        now = self._clock()
        person = self.get(_signed_in_id(visitor))
        check_password(new, person.name)
        with self._store.writing() as run:
            throttling.count_attempt(run, person.name, address, now, browser)
            held = run.execute(sa.select(users.c.password).where(users.c.id == person.id)).scalar()
        if not matches(held, old):
            raise UsageError("this is not your password", remedy="type the one that you signed in with")
        kept = hashed(new)
        with self._store.writing() as run:
            throttling.forgive_attempts(run, person.name, address, browser)
            run.execute(users.update().where(users.c.id == person.id).values(password=kept))
            sessions.end_all(run, person.id)
            audit_log.append(run, visitor, "changed the password", now, {})
            return sessions.begin(run, person.id, now)

    def of_session(self, secret: str) -> Visitor | None:
        """Return whose session this is, None if it has ended or they are disabled."""
        with self._store.reading() as run:
            session = sessions.find(run, secret, self._clock())
            person = None if session is None else _get(run, session[0])
        return None if session is None or person is None or person.disabled else person.visitor(session[1])

    def of_token(self, secret: str) -> Visitor | None:
        """Return whose token this is, None if it was revoked or they are disabled."""
        now = self._clock()
        with self._store.reading() as run:
            token = tokens.find(run, secret)
            person = None if token is None else _get(run, token.person)
        if token is None or person is None or person.disabled:
            return None
        if tokens.is_stale(token.last_used, now):
            with self._store.writing() as run:
                tokens.note_use(run, token.id, now)
        return person.visitor(by_token=True)

    def make_token(self, visitor: Visitor, label: str) -> tuple[Token, str]:
        """Make a token of one's own, and return it with its secret, which is not kept."""
        now = self._clock()
        refuse_token(visitor, "a token makes no tokens")
        with self._store.writing() as run:
            token, secret = tokens.make(run, _signed_in_id(visitor), label, now)
            audit_log.append(run, visitor, "made a token", now, {"token": token.id, "label": token.label})
            return token, secret

    def tokens(self, visitor: Visitor) -> list[Token]:
        """Return one's own tokens."""
        with self._store.reading() as run:
            return tokens.listed(run, _signed_in_id(visitor))

    def revoke(self, visitor: Visitor, token: str) -> None:
        """Revoke a token of one's own."""
        now = self._clock()
        with self._store.writing() as run:
            tokens.revoke(run, _signed_in_id(visitor), token, now)
            audit_log.append(run, visitor, "revoked a token", now, {"token": token})

    def disable(self, visitor: Visitor, person: str) -> None:
        """Shut somebody out: sessions and tokens end at once."""
        refuse_token(visitor, "a token disables no users")
        now = self._clock()
        with self._store.writing() as run:
            user = _get(run, person)
            _check_shutting_out(run, visitor, user)
            run.execute(users.update().where(users.c.id == person).values(disabled=True))
            _shut_out(run, person, now)
            audit_log.append(run, visitor, "disabled", now, {"person": user.name})

    def enable(self, visitor: Visitor, person: str) -> None:
        """Let somebody in again, with the password they had."""
        refuse_token(visitor, "a token enables no users")
        with self._store.writing() as run:
            user = _get(run, person)
            run.execute(users.update().where(users.c.id == person).values(disabled=False))
            audit_log.append(run, visitor, "enabled", self._clock(), {"person": user.name})

    def get(self, person: str) -> User:
        """Return a person by id."""
        with self._store.reading() as run:
            return _get(run, person)

    def listed(self) -> list[User]:
        """Return everybody, by name."""
        with self._store.reading() as run:
            return [_user_of(row) for row in run.execute(sa.select(users).order_by(users.c.name))]


def _check_shutting_out(run: sa.Connection, visitor: Visitor, person: User) -> None:
    """See that there is always a curator who can sign in, also if two shut out each other at once."""
    if visitor.id == person.id:
        raise RefusedError("nobody shuts themselves out", remedy="ask another curator")
    asks = _get(run, _signed_in_id(visitor))
    if asks.disabled or asks.invited:
        raise NotSignedInError("you are shut out yourself", remedy="ask a curator")


def _add_user(run: sa.Connection, name: str, role: Role, now: float, password: str | None) -> User:
    name = _checked_name(name)
    _check_free(run, name)
    fields = {"id": fresh_id(), "name": name, "role": str(role), "created": now, "disabled": False}
    run.execute(users.insert().values(password=password, **fields))
    return _get(run, str(fields["id"]))


def _checked_name(name: str) -> str:
    name = name.strip().casefold()
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            "a name has 1 to 64 letters a to z, digits, dots, dashes and underscores, and no sign in front",
            given=name[:80],
            remedy="for example ann.lee",
        )
    return name


def _plain(name: str) -> str:
    """Return a name as it is kept; what cannot be one is nobody's."""
    name = name.strip().casefold()
    return name if _NAME.fullmatch(name) else ""


def _check_free(run: sa.Connection, name: str) -> None:
    if run.execute(sa.select(users.c.id).where(users.c.name == name)).first() is not None:
        raise RefusedError(f"there is somebody of the name {name}", remedy="choose another name")


def _user_of(row: sa.Row[tuple[object, ...]]) -> User:
    return User(row.id, row.name, Role(row.role), row.created, row.disabled, row.password is None)


def _get(run: sa.Connection, person: str) -> User:
    row = run.execute(sa.select(users).where(users.c.id == person)).first()
    if row is None:
        raise UnknownNameError("there is no such person", remedy="look at the list of people")
    return _user_of(row)


def _signed_in_id(visitor: Visitor) -> str:
    if visitor.id is None:
        raise NotSignedInError("nobody is signed in", remedy="sign in first")
    return visitor.id


def _shut_out(run: sa.Connection, person: str, now: float) -> None:
    sessions.end_all(run, person)
    tokens.revoke_all(run, person, now)
    run.execute(invitations.update().where(invitations.c.person == person).values(used=now))


def _invitation(run: sa.Connection, person: str, by: str | None, now: float) -> str:
    """Make the one invitation of a person that counts."""
    secret = fresh_secret()
    run.execute(invitations.delete().where(invitations.c.person == person))
    run.execute(
        invitations.insert().values(
            digest=digest_of(secret), person=person, made_by=by, expires=now + INVITATION_SECONDS
        )
    )
    return secret


def _invited(run: sa.Connection, secret: str, now: float) -> tuple[User, bool]:
    row = run.execute(sa.select(invitations).where(invitations.c.digest == digest_of(secret))).first()
    person = None if row is None else _get(run, row.person)
    if row is None or person is None or row.used is not None or row.expires <= now or person.disabled:
        raise UnknownNameError("this link is not, or no longer, an invitation", remedy="ask a curator for another")
    return person, row.made_by is None
