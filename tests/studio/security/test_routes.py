"""Every route that there is, against everybody who may ask: made from the routes, so that a new one is in it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from headcount.studio.access import AccessLevel, Role, access_level_of, router_for
from headcount.studio.app import check_access_levels, routers
from tests.studio.conftest import Browser

Client = Callable[[Role | str | None], Browser]
ROUTES = [route for router in routers() for route in router.routes if isinstance(route, APIRoute)]
CASES = [(route, method) for route in ROUTES for method in sorted(route.methods or ())]
OPEN = {
    "GET /alive",
    "GET /api/v1/openapi.json",
    "GET /sign-in",
    "GET /static/{name:path}",
    "GET /welcome/{secret}",
    "POST /demo/{role}",  # not there unless it is a demo, which listens on this machine alone
    "POST /sign-in",
    "POST /welcome/{secret}",
}
"""What is open to anybody: a route that is added here is a decision."""


def _named(route: APIRoute, method: str) -> str:
    return f"{method} {route.path}"


def _address(route: APIRoute) -> str:
    return re.sub(r"\{[^}]*\}", "0", route.path)


def test_nothing_else_is_open_to_anybody() -> None:
    assert {
        _named(route, method) for route, method in CASES if access_level_of(route) is AccessLevel.ANYONE
    } == OPEN


def test_every_route_of_the_application_has_a_door(app: FastAPI) -> None:
    assert app.state.routes
    assert all(access_level_of(route) is not None for route in app.state.routes)
    assert len(app.state.routes) == len(ROUTES)


def test_a_route_without_a_door_is_refused_at_the_start() -> None:
    bare = APIRouter()
    bare.add_api_route("/open", lambda: None)
    with pytest.raises(TypeError, match="/open has no door"):
        check_access_levels(bare)
    within = router_for(AccessLevel.CURATORS)
    within.include_router(bare)
    with pytest.raises(TypeError, match="has no door"):
        check_access_levels(within)


@pytest.mark.parametrize("role", [None, *Role])
def test_every_route_refuses_the_wrong_role(role: Role | None, client: Client) -> None:
    """Whoever may not pass is stopped; whoever may is not, whatever then becomes of a made-up address."""
    let_in = {
        None: {AccessLevel.ANYONE},
        Role.ANALYST: {AccessLevel.ANYONE, AccessLevel.SIGNED_IN},
        Role.CURATOR: set(AccessLevel),
    }[role]
    asks = client(role)
    for route, method in CASES:
        if route.path == "/sign-out":  # it would end the session of this test; test_account has it
            continue
        answer = asks.request(method, _address(route))
        program = route.path.startswith("/api/")
        to_sign_in = answer.status_code == 303 and answer.headers["location"].startswith("/sign-in")
        stopped = (
            (answer.status_code == 401 if program else to_sign_in) if role is None else answer.status_code == 403
        )
        assert stopped is (access_level_of(route) not in let_in), (
            _named(route, method),
            answer.status_code,
            answer.text,
        )
        assert answer.status_code < 500, (_named(route, method), answer.text)


def test_a_door_is_looked_at_before_the_body(client: Client) -> None:
    for route, method in CASES:
        if method in ("GET", "HEAD") or access_level_of(route) is AccessLevel.ANYONE:
            continue
        headers = {"content-type": "application/json", "content-length": str(10**12)}
        answer = client(None).request(method, _address(route), content=b"{not json", headers=headers)
        assert answer.status_code in (401, 303), _named(route, method)
