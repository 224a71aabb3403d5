"""Templates into answers. Everything from outside is escaped, and a name that is missing is an error."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from headcount.releases.formatting import whole
from headcount.studio.access import Door, Role, Visitor, door_of
from headcount.studio.forms.labels import label
from headcount.studio.web import assets
from headcount.version import __version__


@dataclass(frozen=True)
class Place:
    """A part of the studio that is reached from every page, by a click or by ``g`` and a letter."""

    address: str
    label: str
    key: str
    only: Role | None = None
    """Whom it is shown to, where not everybody that its door lets in."""


PLACES = (
    Place("/", "Home", "h"),
    Place("/releases", "Releases", "r"),
    Place("/compare", "Compare", "c"),
    Place("/datasets", "Datasets", "d"),
    Place("/ask", "Ask", "a", only=Role.ANALYST),
    Place("/runs", "Runs", "w"),
    Place("/budgets", "Budgets", "b"),
    Place("/lab", "Lab", "l"),
    Place("/people", "People", "p"),
    Place("/deeds", "Audit log", "u"),
)
"""Shown to whom their doors let in; a place that the application does not have is left out."""


def page(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a whole page: a template that extends ``base.html.jinja``."""
    return _answer(request, name, status, {"places": places(request), **values})


def part(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a piece of a page, for htmx to put into place."""
    return _answer(request, name, status, values)


def places(request: Request) -> list[Place]:
    """Return where this visitor may go."""
    doors = {each.path: door_of(each) for each in _routes(request.app.routes)}
    who = _visitor(request)
    mine = [each for each in PLACES if each.only in (None, who.role)]
    return [each for each in mine if _open(doors.get(each.address), who)]


def environment() -> Environment:
    """Return the environment of all templates."""
    return _environment()


def _routes(held: Iterable[Any]) -> Iterator[Any]:
    """Yield routes, those of routers that were included as well."""
    for each in held:
        if hasattr(each, "original_router"):
            yield from _routes(each.original_router.routes)
        elif hasattr(each, "path"):
            yield each


def _open(door: Door | None, who: Visitor) -> bool:
    if door is None or who.role is None:
        return False
    return door is not Door.CURATORS or who.is_curator


def _answer(request: Request, name: str, status: int, values: dict[str, Any]) -> HTMLResponse:
    who = _visitor(request)
    section = "/" + request.url.path.split("/")[1]
    known = {
        "visitor": who,
        "csrf": who.csrf,
        "studio": getattr(request.app.state, "studio", None),
        "active": section,
    }
    text = _environment().get_template(name).render({"request": request, **known, **values})
    return HTMLResponse(text, status_code=status)


def _visitor(request: Request) -> Visitor:
    """Return who asks, nobody where an error came before that was found out."""
    return getattr(request.state, "visitor", None) or Visitor()


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("headcount.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(asset=assets.address, version=__version__)
    made.filters.update(whole=whole, moment=moment, machine_time=machine_time, size=size, label=label)
    return made


def moment(seconds: float | None) -> str:
    """Write a time for people, in UTC.

    >>> moment(0.0), moment(None)
    ('1 January 1970, 00:00 UTC', '–')
    """
    if seconds is None:
        return "–"
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def machine_time(seconds: float) -> str:
    """Write a time for the ``datetime`` of a ``<time>``.

    >>> machine_time(0.0)
    '1970-01-01T00:00:00Z'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def size(count: float) -> str:
    """Write a number of bytes.

    >>> size(999), size(2_500_000), size(2 * 1024**3)
    ('999 bytes', '2.5 MB', '2.1 GB')
    """
    if count < 1000:
        return f"{count:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"
