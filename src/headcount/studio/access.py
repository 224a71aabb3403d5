"""Access to routes: who may enter, how long a body may be, and CSRF protection.

:func:`router_for` makes a router for anyone, for signed-in accounts or for curators. The application refuses to
start with a route of any other router. What a visitor sees *behind* a door is decided by the services.

A route checks the visitor and the origin of a request before it reads the body. A session depends on a cookie,
which a browser adds to every request. So a request that changes something must name our own origin and show the
token of the session, which no other site can read. A program sends its token on purpose and needs neither.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message

from headcount.errors import HeadcountError

_F = TypeVar("_F", bound=Callable[..., Any])
_UPLOAD_ENDPOINTS: set[Callable[..., Any]] = set()
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


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
    """Who makes a request: an account with a session of a browser or a token of a program, or no account."""

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
    """A visitor without an account asks for something that is not open to anyone."""


class NotAllowedError(HeadcountError):
    """A visitor asks for something that is for others."""


class ForgeryError(HeadcountError):
    """A request that may come from another site."""


def router_for(level: AccessLevel, **settings: Any) -> APIRouter:
    """Return a router whose routes let in these alone."""
    return APIRouter(dependencies=[Depends(_Guard(level))], route_class=_GuardedRoute, **settings)


def takes_uploads(endpoint: _F) -> _F:
    """Mark an endpoint that takes uploads: its body may be as long as the settings allow for these."""
    _UPLOAD_ENDPOINTS.add(endpoint)
    return endpoint


def access_level_of(route: Any) -> AccessLevel | None:
    """Return the access level of a route, None if it has none."""
    if not isinstance(route, _GuardedRoute):
        return None
    guards = [entry.dependency for entry in route.dependencies if isinstance(entry.dependency, _Guard)]
    return guards[0].level if len(guards) == 1 else None


def check_curator(visitor: Visitor) -> None:
    """Refuse all but curators."""
    if not visitor.is_curator:
        raise NotAllowedError("this is for curators", remedy="ask a curator")


def signed_in_id(visitor: Visitor) -> str:
    """Return the id of the visitor's account; refuse a visitor without one."""
    if visitor.id is None:
        raise NotSignedInError("nobody is signed in", remedy="sign in first")
    return visitor.id


def refuse_token(visitor: Visitor, problem: str) -> None:
    """Refuse a token to change access: a leaked token must not give access that outlives its revocation."""
    if visitor.by_token:
        raise NotAllowedError(problem, remedy="sign in to the studio in a browser")


@dataclass(frozen=True)
class _Guard:
    level: AccessLevel

    def __call__(self, request: Request) -> None:
        if self.level is AccessLevel.ANYONE:
            return
        if request.state.visitor.role is None:
            raise NotSignedInError("nobody is signed in", remedy="sign in first")
        if self.level is AccessLevel.CURATORS:
            check_curator(request.state.visitor)


class _GuardedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        level = access_level_of(self)

        async def guarded(request: Request) -> Response:
            if level is None:
                raise NotAllowedError("this has no door")
            _Guard(level)(request)
            limits = request.app.state.studio.settings.limits
            is_upload = self.endpoint in _UPLOAD_ENDPOINTS
            request = _limit_body(request, limits.upload_bytes if is_upload else limits.form_bytes)
            visitor: Visitor = request.state.visitor
            try:
                if request.method not in _SAFE_METHODS and not visitor.by_token:
                    await _check_origin(request, visitor.csrf)
                return await handle(request)
            finally:
                await request.close()  # files of a form that was read for its token

        return guarded


def _limit_body(request: Request, most: int) -> Request:
    """Return a request whose body has at most ``most`` bytes, whatever its header says."""
    content_length = request.headers.get("content-length", "0")
    if not content_length.isdecimal() or int(content_length) > most:
        raise _too_large(most)
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await request.receive()
        read += len(message.get("body", b""))
        if read > most:
            raise _too_large(most)
        return message

    return Request(request.scope, counted)


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"a request here has at most {most} bytes")


async def _check_origin(request: Request, token: str) -> None:
    """Refuse a request that another site may have sent; ``token`` is that of the session, empty without one."""
    origin = request.headers.get("origin")
    if origin is None and not token:  # no browser: they all name an origin here
        return
    ours = {f"{request.url.scheme}://{request.headers.get('host', '')}", request.app.state.origin}
    if origin not in ours:
        raise ForgeryError("this request comes from another site", remedy="open the page anew, and try again")
    if token and not hmac.compare_digest((await _sent_token(request)).encode(), token.encode()):
        raise ForgeryError("this page is too old", remedy="open it anew, and try again")


async def _sent_token(request: Request) -> str:
    sent_token = request.headers.get("X-CSRF-Token")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent_token is not None or kind not in _FORMS:
        return sent_token or ""
    length, most = request.headers.get("content-length"), request.app.state.studio.settings.limits.form_bytes
    if length is None or int(length) > most:
        return ""  # a large upload, or one of unknown length, shows the token in the header
    await request.body()  # held, so that the route may read it as a stream
    field = (await request.form()).get("csrf", "")
    return field if isinstance(field, str) else ""
