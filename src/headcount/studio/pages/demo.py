"""Sign-in to the demo, as its curator or analyst without a password."""

from __future__ import annotations

from fastapi import Request, Response

from headcount.errors import UnknownNameError
from headcount.studio.access import AccessLevel, Role, router_for
from headcount.studio.demo import ACCOUNTS, PASSWORD
from headcount.studio.pages.account import address_of, signed_in
from headcount.studio.studio import studio_of

_anyone = router_for(AccessLevel.ANYONE, include_in_schema=False)


@_anyone.post("/demo/{role}")
def enter(request: Request, role: Role) -> Response:
    """Sign in as one of the two people of the demo; elsewhere there is no such page."""
    studio = studio_of(request)
    if not studio.settings.demo:
        raise UnknownNameError("there is nothing at this address", remedy="begin at /")
    begun = studio.users.sign_in(ACCOUNTS[role], PASSWORD, address_of(request), studio.cookies.read(request))
    return signed_in(request, begun, "/")


ROUTERS = (_anyone,)
