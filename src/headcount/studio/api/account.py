"""One's own account, for programs: who one is, and one's tokens. A token is made in the browser alone."""

from __future__ import annotations

from fastapi import Request

from headcount.studio.access import AccessLevel, Role, router_for, visitor
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import ResponseBody

_mine = router_for(AccessLevel.SIGNED_IN, prefix="/api/v1/account", tags=["account"])


class Me(ResponseBody):
    """Who asks."""

    id: str
    name: str
    role: Role


class TokenInfo(ResponseBody):
    """A token of one's own, without its secret; times are seconds since 1970."""

    id: str
    label: str
    created: float
    last_used: float | None
    revoked: float | None


@_mine.get("")
def who_am_i(request: Request) -> Me:
    """Return who asks."""
    return Me.from_object(visitor(request))


@_mine.get("/tokens")
def my_tokens(request: Request) -> list[TokenInfo]:
    """Return one's own tokens, the newest first."""
    return [TokenInfo.from_object(token) for token in studio_of(request).users.tokens(visitor(request))]


@_mine.delete("/tokens/{token}", status_code=204)
def revoke_my_token(request: Request, token: str) -> None:
    """Revoke a token of one's own, this one included."""
    studio_of(request).users.revoke(visitor(request), token)


ROUTERS = (_mine,)
