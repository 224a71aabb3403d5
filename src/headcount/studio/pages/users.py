"""The accounts page of curators: invite, reset, disable and enable accounts."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import CallerError, HeadcountError, RefusedError
from headcount.studio.access import AccessLevel, Role, router_for, visitor
from headcount.studio.store.users import INVITATION_SECONDS
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


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
        person, secret = studio.users.invite(visitor(request), name, role)
    except (CallerError, RefusedError) as error:
        return _page(request, error=error)
    return _page(request, link=studio.link(secret), invited=person.name)


@_curators.post("/people/{person}/reset")
def reset(request: Request, person: str) -> Response:
    """Take somebody's password, and show a link to choose another this once."""
    studio = studio_of(request)
    try:
        secret = studio.users.reset(visitor(request), person)
    except RefusedError as error:
        return _page(request, error=error)
    return _page(request, link=studio.link(secret), invited=studio.users.get(person).name)


@_curators.post("/people/{person}/disable")
def disable(request: Request, person: str) -> Response:
    """Shut somebody out."""
    try:
        studio_of(request).users.disable(visitor(request), person)
    except RefusedError as error:
        return _page(request, error=error)
    return RedirectResponse("/people", 303)


@_curators.post("/people/{person}/enable")
def enable(request: Request, person: str) -> Response:
    """Let somebody in again."""
    studio_of(request).users.enable(visitor(request), person)
    return RedirectResponse("/people", 303)


def _page(
    request: Request, *, error: HeadcountError | None = None, link: str | None = None, invited: str = ""
) -> Response:
    return templates.page(
        request,
        "people.html.jinja",
        status=200 if error is None else status_of(error),
        people=studio_of(request).users.listed(),
        days=round(INVITATION_SECONDS / 86400),
        roles=[(str(role), f"{'an' if role is Role.ANALYST else 'a'} {role}") for role in reversed(Role)],
        link=link,
        invited=invited,
        error=error,
    )


ROUTERS = (_curators,)
