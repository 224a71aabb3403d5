"""Accounts for programs: one's own account and tokens; for curators all accounts and the audit log.

A token is made in the browser alone.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from headcount.studio.access import AccessLevel, Role, router_for
from headcount.studio.studio import Call
from headcount.studio.web.json_api import Body, ResponseBody

_mine = router_for(AccessLevel.SIGNED_IN, prefix="/api/v1/account", tags=["account"])
_curators = router_for(AccessLevel.CURATORS, prefix="/api/v1", tags=["people"])


class Me(ResponseBody):
    """Who asks."""

    id: str
    name: str
    role: Role


class TokenInfo(ResponseBody):
    """A token of one's own, without its secret; times are seconds since 1970."""

    id: str
    label: str
    created: float
    last_used: float | None
    revoked: float | None


class UserInfo(ResponseBody):
    """Somebody who is known; times are seconds since 1970."""

    id: str
    name: str
    role: Role
    created: float
    disabled: bool
    invited: bool


class Invitation(Body):
    """Whom to invite, and as what."""

    name: str
    role: Role = Role.ANALYST


class InvitedUser(ResponseBody):
    """Somebody with the link that lets them in: shown once, for one use."""

    person: UserInfo
    link: str


class AuditEntryInfo(ResponseBody):
    """What somebody did."""

    number: int
    at: float
    person: str | None
    name: str
    deed: str
    about: dict[str, Any]


@_mine.get("")
def who_am_i(call: Call) -> Me:
    """Return who asks."""
    return Me.from_object(call.visitor)


@_mine.get("/tokens")
def my_tokens(call: Call) -> list[TokenInfo]:
    """Return one's own tokens, the newest first."""
    return [TokenInfo.from_object(token) for token in call.studio.accounts.tokens(call.visitor)]


@_mine.delete("/tokens/{token}", status_code=204)
def revoke_my_token(call: Call, token: str) -> None:
    """Revoke a token of one's own, this one included."""
    call.studio.accounts.revoke(call.visitor, token)


@_curators.get("/people")
def everybody(call: Call) -> list[UserInfo]:
    """Return everybody, by name."""
    return [UserInfo.from_object(account) for account in call.studio.accounts.listed()]


@_curators.post("/people", status_code=201)
def invite_somebody(call: Call, invitation: Invitation) -> InvitedUser:
    """Invite somebody."""
    account, secret = call.studio.accounts.invite(call.visitor, invitation.name, invitation.role)
    return InvitedUser(person=UserInfo.from_object(account), link=call.studio.link(secret))


@_curators.post("/people/{person}/reset")
def reset_somebody(call: Call, person: str) -> InvitedUser:
    """Take password, sessions and tokens from somebody, and return a link to choose a password."""
    secret = call.studio.accounts.reset(call.visitor, person)
    return InvitedUser(person=_account(call, person), link=call.studio.link(secret))


@_curators.post("/people/{person}/disable")
def disable_somebody(call: Call, person: str) -> UserInfo:
    """Shut somebody out: sessions and tokens end at once."""
    call.studio.accounts.disable(call.visitor, person)
    return _account(call, person)


@_curators.post("/people/{person}/enable")
def enable_somebody(call: Call, person: str) -> UserInfo:
    """Let somebody in again."""
    call.studio.accounts.enable(call.visitor, person)
    return _account(call, person)


def _account(call: Call, person: str) -> UserInfo:
    return UserInfo.from_object(call.studio.accounts.get(person))


@_curators.get("/deeds")
def audit_log(
    call: Call,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[AuditEntryInfo]:
    """Return the audit log, the newest first: as many as asked for, those before a number."""
    return [AuditEntryInfo.from_object(entry) for entry in call.studio.audit_log.listed(before=before, most=most)]


ROUTERS = (_mine, _curators)
