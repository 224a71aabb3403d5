"""People and the audit log, for programs of curators."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request

from headcount.studio.access import AccessLevel, Role, router_for, visitor
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import Body, ResponseBody

_curators = router_for(AccessLevel.CURATORS, prefix="/api/v1", tags=["people"])


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


@_curators.get("/people")
def everybody(request: Request) -> list[UserInfo]:
    """Return everybody, by name."""
    return [UserInfo.from_object(user) for user in studio_of(request).users.listed()]


@_curators.post("/people", status_code=201)
def invite_somebody(request: Request, invitation: Invitation) -> InvitedUser:
    """Invite somebody."""
    studio = studio_of(request)
    person, secret = studio.users.invite(visitor(request), invitation.name, invitation.role)
    return InvitedUser(person=UserInfo.from_object(person), link=studio.link(secret))


@_curators.post("/people/{person}/reset")
def reset_somebody(request: Request, person: str) -> InvitedUser:
    """Take password, sessions and tokens from somebody, and return a link to choose a password."""
    studio = studio_of(request)
    secret = studio.users.reset(visitor(request), person)
    return InvitedUser(person=UserInfo.from_object(studio.users.get(person)), link=studio.link(secret))


@_curators.post("/people/{person}/disable")
def disable_somebody(request: Request, person: str) -> UserInfo:
    """Shut somebody out: sessions and tokens end at once."""
    users = studio_of(request).users
    users.disable(visitor(request), person)
    return UserInfo.from_object(users.get(person))


@_curators.post("/people/{person}/enable")
def enable_somebody(request: Request, person: str) -> UserInfo:
    """Let somebody in again."""
    users = studio_of(request).users
    users.enable(visitor(request), person)
    return UserInfo.from_object(users.get(person))


@_curators.get("/deeds")
def audit_log(
    request: Request,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[AuditEntryInfo]:
    """Return the audit log, the newest first: as many as asked for, those before a number."""
    return [
        AuditEntryInfo.from_object(entry)
        for entry in studio_of(request).audit_log.listed(before=before, most=most)
    ]


ROUTERS = (_curators,)
