"""Routes of static files and of the liveness check."""

from __future__ import annotations

from fastapi import Request, Response

from headcount.errors import UnknownNameError
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.web import assets

_router = router_for(AccessLevel.ANYONE, include_in_schema=False)


@_router.get("/static/{name:path}")
def static(request: Request, name: str) -> Response:
    """Send a file whose name says what it holds, to be kept for ever."""
    file = assets.asset(name)
    if file is None:
        raise UnknownNameError("there is no such file", remedy="load the page again")
    packs = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    return Response(
        file.packed if packs else file.content,
        media_type=file.media_type,
        headers={**headers, "Content-Encoding": "gzip"} if packs else headers,
    )


@_router.get("/alive")
def alive() -> Response:
    """Answer, for a page that lost its connection and wonders whether it is back."""
    return Response(status_code=204, headers={"Cache-Control": "no-store"})


ROUTERS = (_router,)
