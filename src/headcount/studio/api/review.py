"""Review for programs of curators: publish a release, or withhold it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field

from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import Body, ResponseBody

_curators = router_for(AccessLevel.CURATORS, prefix="/api/v1", tags=["releases"])


class ReviewChanges(Body):
    """What is said of a release; what is left out stays."""

    title: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    note: Annotated[str, Field(max_length=10_000)] | None = None


class ReviewedRelease(ResponseBody):
    """A release, and what was decided of it."""

    id: str
    title: str
    note: str
    state: str
    published: float | None


@_curators.post("/releases/{release}/publish")
def publish(request: Request, release: str, changes: ReviewChanges) -> ReviewedRelease:
    """Let every analyst see a release."""
    _retitle(request, release, changes)
    return ReviewedRelease.from_object(studio_of(request).releases.publish(visitor(request), release))


@_curators.post("/releases/{release}/withhold")
def withhold(request: Request, release: str, changes: ReviewChanges) -> ReviewedRelease:
    """Let no analyst see a release; what was charged for it stays charged."""
    _retitle(request, release, changes)
    return ReviewedRelease.from_object(studio_of(request).releases.withhold(visitor(request), release))


def _retitle(request: Request, release: str, changes: ReviewChanges) -> None:
    studio_of(request).releases.retitle(visitor(request), release, title=changes.title, note=changes.note)


ROUTERS = (_curators,)
