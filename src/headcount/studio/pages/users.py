"""People, for curators: invite them by a link that is shown once, shut them out, let them in again."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import CallerError, HeadcountError, RefusedError
from headcount.studio.access import Door, Role, door, visitor
from headcount.studio.store.users import INVITED_FOR
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = door(Door.CURATORS, include_in_schema=False)


@_curators.get("/people")
def people(request: Request) -> Response:
    """Show everybody."""
    return _page(request)


@_curators.post("/people")
def invite(
    request: Request,
    name: Annotated[str, Form(max_length=1000)] = "",
    role: Annotated[Role, Form()] = Role.ANALYST,
) -> Response:
    """Invite somebody, and show the link this once."""
    studio = studio_of(request)
    try:
        person, secret = studio.people.invite(visitor(request), name, role)
    except (CallerError, RefusedError) as error:
        return _page(request, error=error)
    return _page(request, link=studio.link(secret), invited=person.name)


@_curators.post("/people/{person}/reset")
def reset(request: Request, person: str) -> Response:
    """Take somebody's password, and show a link to choose another this once."""
    studio = studio_of(request)
    try:
        secret = studio.people.reset(visitor(request), person)
    except RefusedError as error:
        return _page(request, error=error)
    return _page(request, link=studio.link(secret), invited=studio.people.get(person).name)


@_curators.post("/people/{person}/disable")
def disable(request: Request, person: str) -> Response:
    """Shut somebody out."""
    try:
        studio_of(request).people.disable(visitor(request), person)
    except RefusedError as error:
        return _page(request, error=error)
    return RedirectResponse("/people", 303)


@_curators.post("/people/{person}/enable")
def enable(request: Request, person: str) -> Response:
    """Let somebody in again."""
    studio_of(request).people.enable(visitor(request), person)
    return RedirectResponse("/people", 303)


def _page(
    request: Request, *, error: HeadcountError | None = None, link: str | None = None, invited: str = ""
) -> Response:
    return templates.page(
        request,
        "people.html.jinja",
        status=200 if error is None else status_of(error),
        people=studio_of(request).people.listed(),
        days=round(INVITED_FOR / 86400),
        roles=[(str(each), f"{'an' if each is Role.ANALYST else 'a'} {each}") for each in reversed(Role)],
        link=link,
        invited=invited,
        error=error,
    )


ROUTERS = (_curators,)
