"""Signing in and out, taking up an invitation, and one's own account: password and tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import CallerError, HeadcountError, RefusedError
from headcount.studio.access import AccessLevel, NotSignedInError, router_for, visitor
from headcount.studio.security.middleware import place_within
from headcount.studio.security.passwords import SHORTEST
from headcount.studio.store.sessions import Session
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_anyone = router_for(AccessLevel.ANYONE, include_in_schema=False)
_mine = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)

Words = Annotated[str, Form(max_length=1000)]


@_anyone.get("/sign-in")
def sign_in_page(request: Request, next: str = "/") -> Response:  # noqa: A002 - the name that addresses have
    """Ask who it is."""
    if visitor(request).role is not None:
        return RedirectResponse(place_within(next), 303)
    return templates.page(request, "sign_in.html.jinja", next=place_within(next), typed="", error=None)


@_anyone.post("/sign-in")
def sign_in(request: Request, name: Words = "", password: Words = "", next: Words = "/") -> Response:  # noqa: A002
    """Begin a session, or say that it is not right."""
    studio = studio_of(request)
    try:
        browser = studio.cookies.browser_of(request, name)
        begun = studio.users.sign_in(name, password, address_of(request), studio.cookies.read(request), browser)
    except (NotSignedInError, RefusedError) as error:
        return templates.page(
            request,
            "sign_in.html.jinja",
            status=status_of(error),
            next=place_within(next),
            typed=name[:64],
            error=error,
        )
    return signed_in(request, begun, place_within(next), name)


@_mine.post("/sign-out")
def sign_out(request: Request) -> Response:
    """End the session."""
    studio = studio_of(request)
    if secret := studio.cookies.read(request):
        studio.users.sign_out(visitor(request), secret)
    response = RedirectResponse("/sign-in", 303)
    studio.cookies.clear(response)
    return response


@_anyone.get("/welcome/{secret}")
def welcome_page(request: Request, secret: str) -> Response:
    """Ask somebody who was invited for a password; the first curator for a name, too."""
    return _welcome(request, secret, None)


@_anyone.post("/welcome/{secret}")
def welcome(request: Request, secret: str, password: Words = "", name: Words = "") -> Response:
    """Take up an invitation."""
    try:
        begun = studio_of(request).users.accept(secret, password, name.strip() or None)
    except (CallerError, RefusedError) as error:
        return _welcome(request, secret, error)
    return signed_in(request, begun, "/")


def _welcome(request: Request, secret: str, error: HeadcountError | None) -> Response:
    users = studio_of(request).users
    return templates.page(
        request,
        "welcome.html.jinja",
        status=200 if error is None else status_of(error),
        person=users.invited(secret),
        first=users.is_first(secret),
        shortest=SHORTEST,
        secret=secret,
        error=error,
    )


@_mine.get("/account")
def account(request: Request) -> Response:
    """Show one's own account."""
    return _account(request)


@_mine.post("/account/password")
def change_password(request: Request, old: Words = "", new: Words = "") -> Response:
    """Change one's own password."""
    try:
        studio, who = studio_of(request), visitor(request)
        browser = studio.cookies.browser_of(request, who.name)
        begun = studio.users.change_password(who, old, new, address_of(request), browser)
    except (CallerError, RefusedError) as error:
        return _account(request, error=error)
    return signed_in(request, begun, "/account")


@_mine.post("/account/tokens")
def make_token(request: Request, label: Words = "") -> Response:
    """Make a token, and show it this once."""
    try:
        _, secret = studio_of(request).users.make_token(visitor(request), label)
    except (CallerError, RefusedError) as error:
        return _account(request, error=error)
    return _account(request, new_token=secret)


@_mine.post("/account/tokens/{token}/revoke")
def revoke_token(request: Request, token: str) -> Response:
    """Revoke a token of one's own."""
    studio_of(request).users.revoke(visitor(request), token)
    return RedirectResponse("/account", 303)


def _account(request: Request, *, error: HeadcountError | None = None, new_token: str | None = None) -> Response:
    return templates.page(
        request,
        "account.html.jinja",
        status=200 if error is None else status_of(error),
        tokens=[token for token in studio_of(request).users.tokens(visitor(request)) if token.revoked is None],
        shortest=SHORTEST,
        made=new_token,
        error=error,
    )


def signed_in(request: Request, begun: Session, place: str, name: str | None = None) -> Response:
    """Go on with a session that was just begun; remember the browser of a user who typed a name and a password."""
    response = RedirectResponse(place, 303)
    studio_of(request).cookies.set(response, begun.secret)
    if name is not None:
        studio_of(request).cookies.remember_browser(response, name)
    return response


def address_of(request: Request) -> str:
    """Return where a request comes from; behind a proxy, what the server made of its headers."""
    return "unknown" if request.client is None else request.client.host


ROUTERS = (_anyone, _mine)
