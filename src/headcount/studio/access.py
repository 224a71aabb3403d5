"""Access levels of routes: each router is made for anyone, for signed-in accounts or for curators.

A router is made by :func:`router_for`; the application refuses to start with a route that has none. What one sees
*behind* a door, such as whose releases, is decided by the services, which are told who asks.

A door is looked at before the body of a request is read, and so is where the request comes from; no body is longer
than the settings allow, which is more where a route takes uploads.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message, Receive

from headcount.errors import HeadcountError
from headcount.studio.security.csrf import SAFE, check_origin

_F = TypeVar("_F", bound=Callable[..., Any])
_UPLOAD_ENDPOINTS: set[Callable[..., Any]] = set()


class Role(StrEnum):
    """What a person may do: curators see everything that the studio has, analysts what is released."""

    CURATOR = "curator"
    ANALYST = "analyst"


class AccessLevel(StrEnum):
    """Whom a route lets in."""

    ANYONE = "anyone"
    SIGNED_IN = "signed in"
    CURATORS = "curators"


@dataclass(frozen=True)
class Visitor:
    """Who asks: a person with a session of a browser or a token of a program, or nobody who is known."""

    id: str | None = None
    name: str = ""
    role: Role | None = None
    csrf: str = ""
    by_token: bool = False

    @property
    def is_curator(self) -> bool:
        """Whether it is a curator."""
        return self.role is Role.CURATOR


class NotSignedInError(HeadcountError):
    """Nobody who is known asks for something that is not for everybody."""


class NotAllowedError(HeadcountError):
    """Somebody asks for what is not for them."""


def router_for(who: AccessLevel, **settings: Any) -> APIRouter:
    """Return a router whose routes let in these alone."""
    return APIRouter(dependencies=[Depends(_Guard(who))], route_class=_GuardedRoute, **settings)


def takes_uploads(endpoint: _F) -> _F:
    """Mark what takes uploads: its body may be as long as the settings allow for these."""
    _UPLOAD_ENDPOINTS.add(endpoint)
    return endpoint


def visitor(request: Request) -> Visitor:
    """Return who asks; found out once for each request, before any route runs."""
    current_visitor: Visitor = request.state.visitor
    return current_visitor


def access_level_of(route: Any) -> AccessLevel | None:
    """Return the door that a route belongs to, None if it has none."""
    if not isinstance(route, _GuardedRoute):
        return None
    guards = [
        route_dependency.dependency
        for route_dependency in route.dependencies
        if isinstance(route_dependency.dependency, _Guard)
    ]
    return guards[0].who if len(guards) == 1 else None


@dataclass(frozen=True)
class _Guard:
    who: AccessLevel

    def __call__(self, request: Request) -> None:
        asks = visitor(request)
        if self.who is AccessLevel.ANYONE:
            return
        if asks.role is None:
            raise NotSignedInError("nobody is signed in", remedy="sign in first")
        if self.who is AccessLevel.CURATORS and not asks.is_curator:
            raise NotAllowedError("this is for curators", remedy="ask a curator")


class _GuardedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        who = access_level_of(self)

        async def guarded(request: Request) -> Response:
            if who is None:
                raise NotAllowedError("this has no door")
            _Guard(who)(request)
            limits = request.app.state.studio.settings.limits
            most = limits.upload_bytes if self.endpoint in _UPLOAD_ENDPOINTS else limits.form_bytes
            request = _limit_body(request, most)
            try:
                if request.method not in SAFE and not visitor(request).by_token:
                    await check_origin(request, visitor(request).csrf)
                return await handle(request)
            finally:
                await request.close()  # files of a form that was read to see where it comes from

        return guarded


def _limit_body(request: Request, most: int) -> Request:
    """Return a request whose body is at most so long, whatever it says of itself."""
    content_length = request.headers.get("content-length", "0")
    if not content_length.isdecimal() or int(content_length) > most:
        raise _too_large(most)
    receive: Receive = request.receive
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise _too_large(most)
        return message

    return Request(request.scope, counted)


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"a request here has at most {most} bytes")


def refuse_token(visitor: Visitor, problem: str) -> None:
    """Refuse a token to change access: a leaked token must not give access that outlives its revocation."""
    if visitor.by_token:
        raise NotAllowedError(problem, remedy="sign in to the studio in a browser")
