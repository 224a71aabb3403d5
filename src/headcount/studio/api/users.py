"""People and the audit log, for programs of curators."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request

from headcount.studio.access import Door, Role, door, visitor
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import Body, Shape

_curators = door(Door.CURATORS, prefix="/api/v1", tags=["people"])


class Known(Shape):
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


class Invited(Shape):
    """Somebody with the link that lets them in: shown once, for one use."""

    person: Known
    link: str


class Done(Shape):
    """What somebody did."""

    number: int
    at: float
    person: str | None
    name: str
    deed: str
    about: dict[str, Any]


@_curators.get("/people")
def everybody(request: Request) -> list[Known]:
    """Return everybody, by name."""
    return [Known.of(each) for each in studio_of(request).people.listed()]


@_curators.post("/people", status_code=201)
def invite_somebody(request: Request, invitation: Invitation) -> Invited:
    """Invite somebody."""
    studio = studio_of(request)
    person, secret = studio.people.invite(visitor(request), invitation.name, invitation.role)
    return Invited(person=Known.of(person), link=studio.link(secret))


@_curators.post("/people/{person}/reset")
def reset_somebody(request: Request, person: str) -> Invited:
    """Take password, sessions and tokens from somebody, and return a link to choose a password."""
    studio = studio_of(request)
    secret = studio.people.reset(visitor(request), person)
    return Invited(person=Known.of(studio.people.get(person)), link=studio.link(secret))


@_curators.post("/people/{person}/disable")
def disable_somebody(request: Request, person: str) -> Known:
    """Shut somebody out: sessions and tokens end at once."""
    people = studio_of(request).people
    people.disable(visitor(request), person)
    return Known.of(people.get(person))


@_curators.post("/people/{person}/enable")
def enable_somebody(request: Request, person: str) -> Known:
    """Let somebody in again."""
    people = studio_of(request).people
    people.enable(visitor(request), person)
    return Known.of(people.get(person))


@_curators.get("/deeds")
def audit_log(
    request: Request,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Done]:
    """Return the audit log, the newest first: as many as asked for, those before a number."""
    return [Done.of(each) for each in studio_of(request).deeds.listed(before=before, most=most)]


ROUTERS = (_curators,)
