"""The OpenAPI document of the API; it tells what anybody can read in the source."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import JSONResponse

from headcount.studio.access import AccessLevel, router_for

_anyone = router_for(AccessLevel.ANYONE, include_in_schema=False)


@_anyone.get("/api/v1/openapi.json")
def document(request: Request) -> JSONResponse:
    """Return the document."""
    return JSONResponse(request.app.openapi())


ROUTERS = (_anyone,)
