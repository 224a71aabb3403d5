"""The FastAPI application: routers with access levels, middleware, static files and the OpenAPI document."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from headcount.errors import UnknownNameError
from headcount.studio import api, pages
from headcount.studio.access import AccessLevel, access_level_of, router_for
from headcount.studio.security.middleware import SecurityMiddleware
from headcount.studio.studio import Studio
from headcount.studio.web import assets, error_responses
from headcount.studio.web.json_api import DocumentedFastAPI
from headcount.version import __version__

_anyone = router_for(AccessLevel.ANYONE, include_in_schema=False)


def app_for_studio(studio: Studio) -> FastAPI:
    """Return the application of a studio; the queue is worked on from when it is served until it ends."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(studio.start)
        try:
            yield
        finally:
            await run_in_threadpool(studio.stop)

    app = DocumentedFastAPI(
        title="Headcount studio",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,  # the document and its page are behind a door, as everything is
        redirect_slashes=False,
    )
    parts = urlsplit(studio.settings.base_url)
    app.state.studio = studio
    app.state.origin = f"{parts.scheme}://{parts.netloc}"
    app.state.routes = []
    for router in routers():
        check_access_levels(router)
        app.include_router(router)
        app.state.routes += router.routes
    error_responses.install(app)
    app.add_middleware(SecurityMiddleware, studio=studio)
    return app


def routers() -> Iterator[APIRouter]:
    """Find the routers of all modules of pages and of the API."""
    for package in (api, pages):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.ispkg:
                yield from importlib.import_module(module.name).ROUTERS
    yield from ROUTERS


def check_access_levels(router: APIRouter) -> None:
    """Refuse a router with a route that has no door."""
    for route in router.routes:
        if access_level_of(route) is None:
            raise TypeError(f"{getattr(route, 'path', route)} has no door: make its router with access.router_for")


@_anyone.get("/api/v1/openapi.json")
def document(request: Request) -> JSONResponse:
    """Return the OpenAPI document: anyone can read its content in the source."""
    return JSONResponse(request.app.openapi())


@_anyone.get("/static/{name:path}")
def static(request: Request, name: str) -> Response:
    """Send a file whose name contains the digest of its content, to be kept for ever."""
    file = assets.asset(name)
    if file is None:
        raise UnknownNameError("there is no such file", remedy="load the page again")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.media_type, headers=headers | {"Content-Encoding": "gzip"})
    return Response(file.content, media_type=file.media_type, headers=headers)


@_anyone.get("/alive")
def alive() -> Response:
    """Answer a page that lost its connection and checks whether the studio is back."""
    return Response(status_code=204, headers={"Cache-Control": "no-store"})


ROUTERS = (_anyone,)
