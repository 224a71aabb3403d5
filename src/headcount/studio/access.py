"""Who may do what, in one place: every route belongs to one door, and a door lets in whom it names.

A router is made by :func:`door`; the application refuses to start with a route that has none. What one sees
*behind* a door, such as whose releases, is decided by the services, which are told who asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fastapi import APIRouter, Depends, Request

from headcount.errors import HeadcountError


class Role(StrEnum):
    """What a person may do: curators see everything that the studio has, analysts what is released."""

    CURATOR = "curator"
    ANALYST = "analyst"


class Door(StrEnum):
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


def door(who: Door, **settings: Any) -> APIRouter:
    """Return a router whose routes let in these alone."""
    return APIRouter(dependencies=[Depends(_Guard(who))], **settings)


def visitor(request: Request) -> Visitor:
    """Return who asks; found out once for each request, before any route runs."""
    found: Visitor = request.state.visitor
    return found


def door_of(route: Any) -> Door | None:
    """Return the door that a route belongs to, None if it has none."""
    held = [each.dependency for each in getattr(route, "dependencies", ()) if isinstance(each.dependency, _Guard)]
    return held[0].who if len(held) == 1 else None


@dataclass(frozen=True)
class _Guard:
    who: Door

    def __call__(self, request: Request) -> None:
        asks = visitor(request)
        if self.who is Door.ANYONE:
            return
        if asks.role is None:
            raise NotSignedInError("nobody is signed in", remedy="sign in first")
        if self.who is Door.CURATORS and not asks.is_curator:
            raise NotAllowedError("this is for curators", remedy="ask a curator")
