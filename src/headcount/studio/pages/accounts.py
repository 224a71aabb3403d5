"""Pages of accounts: signing in, invitations, one's own account; for curators all accounts and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Query
from fastapi.responses import RedirectResponse, Response

from headcount.errors import CallerError, HeadcountError, RefusedError
from headcount.studio.access import AccessLevel, NotSignedInError, Role, router_for
from headcount.studio.demo import ACCOUNTS, PASSWORD
from headcount.studio.security.middleware import place_within
from headcount.studio.security.secrets import SHORTEST
from headcount.studio.store.accounts import INVITATION_SECONDS
from headcount.studio.store.sessions_and_tokens import Session
from headcount.studio.studio import Call
from headcount.studio.web import templates
from headcount.studio.web.error_responses import form_page, unknown_address

_anyone = router_for(AccessLevel.ANYONE, include_in_schema=False)
_mine = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)
_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)

Words = Annotated[str, Form(max_length=1000)]
_DEEDS = 100
"""Entries of the audit log on a page."""


@_anyone.get("/sign-in")
def sign_in_page(call: Call, next: str = "/") -> Response:  # noqa: A002 - the name that addresses have
    """Ask for name and password."""
    if call.visitor.role is not None:
        return RedirectResponse(place_within(next), 303)
    return form_page(call.request, "sign_in.html.jinja", None, next=place_within(next), typed="")


@_anyone.post("/sign-in")
def sign_in(call: Call, name: Words = "", password: Words = "", next: Words = "/") -> Response:  # noqa: A002
    """Begin a session, or show the error."""
    cookies, place = call.studio.cookies, place_within(next)
    try:
        browser = cookies.browser_of(call.request, name)
        begun = call.studio.accounts.sign_in(name, password, _address(call), cookies.read(call.request), browser)
    except (NotSignedInError, RefusedError) as error:
        return form_page(call.request, "sign_in.html.jinja", error, next=place, typed=name[:64])
    return _signed_in(call, begun, place, name)


@_anyone.post("/demo/{role}")
def enter(call: Call, role: Role) -> Response:
    """Sign in as the curator or the analyst of the demo; elsewhere there is no such page."""
    if not call.studio.settings.demo:
        raise unknown_address()
    earlier = call.studio.cookies.read(call.request)
    begun = call.studio.accounts.sign_in(ACCOUNTS[role], PASSWORD, _address(call), earlier)
    return _signed_in(call, begun, "/")


@_mine.post("/sign-out")
def sign_out(call: Call) -> Response:
    """End the session."""
    if secret := call.studio.cookies.read(call.request):
        call.studio.accounts.sign_out(call.visitor, secret)
    response = RedirectResponse("/sign-in", 303)
    call.studio.cookies.clear(response)
    return response


@_anyone.get("/welcome/{secret}")
def welcome_page(call: Call, secret: str) -> Response:
    """Ask an invited account for a password; the first curator for a name, too."""
    return _welcome(call, secret, None)


@_anyone.post("/welcome/{secret}")
def welcome(call: Call, secret: str, password: Words = "", name: Words = "") -> Response:
    """Take up an invitation."""
    try:
        begun = call.studio.accounts.accept(secret, password, name.strip() or None)
    except (CallerError, RefusedError) as error:
        return _welcome(call, secret, error)
    return _signed_in(call, begun, "/")


def _welcome(call: Call, secret: str, error: HeadcountError | None) -> Response:
    person, first = call.studio.accounts.invited(secret)
    values = {"person": person, "first": first, "shortest": SHORTEST, "secret": secret}
    return form_page(call.request, "welcome.html.jinja", error, **values)


@_mine.get("/account")
def account(call: Call) -> Response:
    """Show one's own account."""
    return _own_account(call)


@_mine.post("/account/password")
def change_password(call: Call, old: Words = "", new: Words = "") -> Response:
    """Change one's own password."""
    try:
        browser = call.studio.cookies.browser_of(call.request, call.visitor.name)
        begun = call.studio.accounts.change_password(call.visitor, old, new, _address(call), browser)
    except (CallerError, RefusedError) as error:
        return _own_account(call, error)
    return _signed_in(call, begun, "/account")


@_mine.post("/account/tokens")
def make_token(call: Call, label: Words = "") -> Response:
    """Make a token, and show it this once."""
    try:
        _, secret = call.studio.accounts.make_token(call.visitor, label)
    except (CallerError, RefusedError) as error:
        return _own_account(call, error)
    return _own_account(call, new_token=secret)


@_mine.post("/account/tokens/{token}/revoke")
def revoke_token(call: Call, token: str) -> Response:
    """Revoke a token of one's own."""
    call.studio.accounts.revoke(call.visitor, token)
    return RedirectResponse("/account", 303)


def _own_account(call: Call, error: HeadcountError | None = None, new_token: str | None = None) -> Response:
    tokens = [token for token in call.studio.accounts.tokens(call.visitor) if token.revoked is None]
    values = {"tokens": tokens, "shortest": SHORTEST, "made": new_token}
    return form_page(call.request, "account.html.jinja", error, **values)


@_curators.get("/people")
def people(call: Call) -> Response:
    """Show all accounts."""
    return _people(call)


@_curators.post("/people")
def invite(call: Call, name: Words = "", role: Annotated[Role, Form()] = Role.ANALYST) -> Response:
    """Invite an account, and show the link this once."""
    try:
        person, secret = call.studio.accounts.invite(call.visitor, name, role)
    except (CallerError, RefusedError) as error:
        return _people(call, error)
    return _people(call, link=call.studio.link(secret), invited=person.name)


@_curators.post("/people/{person}/reset")
def reset(call: Call, person: str) -> Response:
    """Take the password of an account, and show a link to choose another this once."""
    try:
        secret = call.studio.accounts.reset(call.visitor, person)
    except RefusedError as error:
        return _people(call, error)
    return _people(call, link=call.studio.link(secret), invited=call.studio.accounts.get(person).name)


@_curators.post("/people/{person}/disable")
def disable(call: Call, person: str) -> Response:
    """Disable an account."""
    try:
        call.studio.accounts.disable(call.visitor, person)
    except RefusedError as error:
        return _people(call, error)
    return RedirectResponse("/people", 303)


@_curators.post("/people/{person}/enable")
def enable(call: Call, person: str) -> Response:
    """Enable an account again."""
    call.studio.accounts.enable(call.visitor, person)
    return RedirectResponse("/people", 303)


def _people(
    call: Call, error: HeadcountError | None = None, *, link: str | None = None, invited: str = ""
) -> Response:
    roles = [(str(role), f"{'an' if role is Role.ANALYST else 'a'} {role}") for role in reversed(Role)]
    values: dict[str, Any] = {"people": call.studio.accounts.listed(), "roles": roles}
    values |= {"days": round(INVITATION_SECONDS / 86400), "link": link, "invited": invited}
    return form_page(call.request, "people.html.jinja", error, **values)


@_curators.get("/deeds")
def audit_log(
    call: Call,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    person: Annotated[str | None, Query(max_length=32)] = None,
) -> Response:
    """Show a page of the audit log, the newest entries first."""
    entries = call.studio.audit_log.listed(before=before, most=_DEEDS, person=person or None)
    earlier = entries[-1].number if len(entries) == _DEEDS else None
    people = call.studio.accounts.listed()
    return templates.page(
        call.request, "deeds.html.jinja", deeds=entries, people=people, person=person, before=earlier
    )


def _signed_in(call: Call, begun: Session, place: str, name: str | None = None) -> Response:
    """Go on with a new session; remember the browser if a name and a password were typed there."""
    response = RedirectResponse(place, 303)
    call.studio.cookies.set(response, begun.secret)
    if name is not None:
        call.studio.cookies.remember_browser(response, name)
    return response


def _address(call: Call) -> str:
    """Return the address of the client; behind a proxy, as the server reads it from the proxy's headers."""
    return "unknown" if call.request.client is None else call.request.client.host


ROUTERS = (_anyone, _mine, _curators)
