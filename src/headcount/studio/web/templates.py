"""Jinja templates to HTML responses, escaped, with strict undefined names; the navigation links."""

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
from headcount.studio.access import AccessLevel, Role, Visitor, access_level_of
from headcount.studio.forms.labels import label
from headcount.studio.web import assets
from headcount.version import __version__


@dataclass(frozen=True)
class NavigationLink:
    """A part of the studio that is reached from every page, by a click or by ``g`` and a letter."""

    address: str
    label: str
    key: str
    only: Role | None = None
    """Whom it is shown to, where not everybody that its door lets in."""


NAVIGATION_LINKS = (
    NavigationLink("/", "Home", "h"),
    NavigationLink("/releases", "Releases", "r"),
    NavigationLink("/compare", "Compare", "c"),
    NavigationLink("/datasets", "Datasets", "d"),
    NavigationLink("/ask", "Ask", "a", only=Role.ANALYST),
    NavigationLink("/runs", "Runs", "w"),
    NavigationLink("/budgets", "Budgets", "b"),
    NavigationLink("/lab", "Lab", "l"),
    NavigationLink("/people", "People", "p"),
    NavigationLink("/deeds", "Audit log", "u"),
)
"""Shown to whom their doors let in; a place that the application does not have is left out."""


def page(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a whole page: a template that extends ``base.html.jinja``."""
    return _render(request, name, status, {"places": navigation_links(request), **values})


def part(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a piece of a page, for htmx to put into place."""
    return _render(request, name, status, values)


def navigation_links(request: Request) -> list[NavigationLink]:
    """Return where this visitor may go."""
    levels_by_path = {entry.path: access_level_of(entry) for entry in _routes(request.app.routes)}
    who = _visitor(request)
    mine = [entry for entry in NAVIGATION_LINKS if entry.only in (None, who.role)]
    return [entry for entry in mine if _may_enter(levels_by_path.get(entry.address), who)]


def environment() -> Environment:
    """Return the environment of all templates."""
    return _environment()


def _routes(held: Iterable[Any]) -> Iterator[Any]:
    """Yield routes, those of routers that were included as well."""
    for route in held:
        if hasattr(route, "original_router"):
            yield from _routes(route.original_router.routes)
        elif hasattr(route, "path"):
            yield route


def _may_enter(level: AccessLevel | None, who: Visitor) -> bool:
    if level is None or who.role is None:
        return False
    return level is not AccessLevel.CURATORS or who.is_curator


def _render(request: Request, name: str, status: int, values: dict[str, Any]) -> HTMLResponse:
    who = _visitor(request)
    section = "/" + request.url.path.split("/")[1]
    common_values = {
        "visitor": who,
        "csrf": who.csrf,
        "studio": getattr(request.app.state, "studio", None),
        "active": section,
    }
    text = _environment().get_template(name).render({"request": request, **common_values, **values})
    return HTMLResponse(text, status_code=status)


def _visitor(request: Request) -> Visitor:
    """Return who asks, nobody where an error came before that was found out."""
    return getattr(request.state, "visitor", None) or Visitor()


@functools.cache
def _environment() -> Environment:
    jinja_environment = Environment(
        loader=PackageLoader("headcount.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja_environment.globals.update(asset=assets.address, version=__version__)
    jinja_environment.filters.update(whole=whole, moment=moment, machine_time=machine_time, size=size, label=label)
    return jinja_environment


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
