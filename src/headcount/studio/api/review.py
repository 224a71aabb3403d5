"""Review for programs of curators: publish a release, or withhold it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field

from headcount.studio.access import Door, door, visitor
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import Body, Shape

_curators = door(Door.CURATORS, prefix="/api/v1", tags=["releases"])


class Said(Body):
    """What is said of a release; what is left out stays."""

    title: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    note: Annotated[str, Field(max_length=10_000)] | None = None


class Decided(Shape):
    """A release, and what was decided of it."""

    id: str
    title: str
    note: str
    state: str
    published: float | None


@_curators.post("/releases/{release}/publish")
def publish(request: Request, release: str, said: Said) -> Decided:
    """Let every analyst see a release."""
    _say(request, release, said)
    return Decided.of(studio_of(request).releases.publish(visitor(request), release))


@_curators.post("/releases/{release}/withhold")
def withhold(request: Request, release: str, said: Said) -> Decided:
    """Let no analyst see a release; what was charged for it stays charged."""
    _say(request, release, said)
    return Decided.of(studio_of(request).releases.withhold(visitor(request), release))


def _say(request: Request, release: str, said: Said) -> None:
    studio_of(request).releases.retitle(visitor(request), release, title=said.title, note=said.note)


ROUTERS = (_curators,)
