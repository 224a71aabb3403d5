"""The FastAPI application: routers of all pages and of the API, with their access levels and middleware."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool

from headcount.studio import api, pages
from headcount.studio.access import access_level_of
from headcount.studio.security.middleware import SecurityMiddleware
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from headcount.studio.web import error_responses
from headcount.studio.web.openapi import DocumentedFastAPI
from headcount.version import __version__


def create_app(settings: Settings) -> FastAPI:
    """Return the application of a studio that is made, or opened again, as the settings say."""
    return app_for_studio(Studio(settings))


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
            if not module.ispkg and not module.name.rpartition(".")[2].startswith("_"):
                yield from importlib.import_module(module.name).ROUTERS


def check_access_levels(router: APIRouter) -> None:
    """Refuse a router with a route that has no door."""
    for route in router.routes:
        if access_level_of(route) is None:
            raise TypeError(f"{getattr(route, 'path', route)} has no door: make its router with access.door")
