"""A release: its ranking or whatever it is about, searched and sorted; contexts, heat map, topics; its promise."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.reports.sentences import across, counted_words, date_in_words, interval_words, meaning
from headcount.studio.access import Door, door
from headcount.studio.services import charts
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.heat_map import grid
from headcount.studio.services.exploration.lift import has_edges, stands_out
from headcount.studio.services.exploration.opened_release import Opened
from headcount.studio.services.exploration.rows import columns_of, lines_of
from headcount.studio.services.open_release import Reading, reading
from headcount.studio.web import templates

_all = door(Door.SIGNED_IN, prefix="/releases/{release}", include_in_schema=False)

ROWS = 50
"""So many rows are loaded at once; more come when one gets there."""

Words = Annotated[str, Query(max_length=200)]
Place = Annotated[int, Query(ge=0, le=2**31)]
Order = Literal["", "up", "down"]


@_all.get("")
def release_page(
    request: Request,
    release: str,
    q: Words = "",
    sort: Words = "",
    order: Order = "",
    context: Words = "",
    start: Place = 0,
) -> Response:
    """Show what a release is about."""
    read = reading(request, release)
    table = read.opened.main or ""
    if context and read.opened.of_contexts:
        table = read.opened.of_contexts
    return _browse(request, read, table, "", q=q, sort=sort, order=order, context=context, start=start)


@_all.get("/tables/{table:path}")
def table_page(
    request: Request,
    release: str,
    table: str,
    q: Words = "",
    sort: Words = "",
    order: Order = "",
    context: Words = "",
    start: Place = 0,
) -> Response:
    """Show one of its tables."""
    read = reading(request, release)
    here = f"tables/{table}"
    return _browse(request, read, table, here, q=q, sort=sort, order=order, context=context, start=start)


@_all.get("/contexts")
def contexts_page(request: Request, release: str, context: Words = "") -> Response:
    """Show what is popular in one context, and what stands out there."""
    read = reading(request, release)
    opened = read.opened
    known = opened.release.contexts or ()
    chosen = context or _telling(opened) or next(iter(known), "")
    table = opened.of_contexts
    shown: dict[str, Any] = {"lines": [], "columns": [], "standing": []}
    if chosen and table is not None:
        browsed = opened.browsed(table, chosen)
        shown = {
            "lines": lines_of(opened, browsed, browsed.page(size=10), read.base),
            "columns": columns_of(browsed),
            "standing": [(opened.name("item", each.item), each) for each in stands_out(opened, chosen, 10)]
            if has_edges(opened.release)
            else [],
        }
    return templates.page(
        request,
        "contexts.html.jinja",
        **read.shown("contexts"),
        contexts=known,
        chosen=chosen,
        compares=has_edges(opened.release),
        across=across(opened.release),
        counted=counted_words(opened.release),
        **shown,
    )


def _telling(opened: Opened) -> str | None:
    """Return the first context in which something stands out, to begin with."""
    known = opened.release.contexts or () if has_edges(opened.release) else ()
    return next((each for each in known if stands_out(opened, each, 1)), None)


@_all.get("/heat")
def heat_page(request: Request, release: str, q: Words = "") -> Response:
    """Show the largest items, or those that are searched for, over all contexts."""
    read = reading(request, release)
    found = grid(read.opened, q)
    shown: dict[str, Any] = {
        "grid": found,
        "counted": counted_words(read.opened.release),
        "q": q,
        "base": read.base,
        "across": across(read.opened.release),
    }
    if request.headers.get("hx-target") == "heat":
        return templates.part(request, "heat_part.html.jinja", **shown)
    return templates.page(request, "heat.html.jinja", **{**read.shown("heat"), **shown})


@_all.get("/topics")
def topics_page(request: Request, release: str) -> Response:
    """Show what tags are about."""
    read = reading(request, release)
    return templates.page(request, "topics.html.jinja", **read.shown("topics"), topics=views.topics(read.opened))


@_all.get("/promise")
def promise_page(request: Request, release: str) -> Response:
    """Say in plain words what is promised, and how it was made."""
    read = reading(request, release)
    held = read.opened.release
    return templates.page(
        request,
        "promise.html.jinja",
        **read.shown("promise"),
        meaning=meaning(held),
        sentences=held.sentences(),
        created=date_in_words(held.created),
    )


@_all.get("/charts")
def charts_part(request: Request, release: str) -> Response:
    """Return the places of all charts, which are drawn when one gets there; the page is there before them."""
    read = reading(request, release)
    if read.opened.main is not None:
        read.opened.browsed(read.opened.main).warm()
    figures = list(charts.charts(read.opened).values())
    return templates.part(request, "charts_part.html.jinja", charts=figures, base=read.base)


@_all.get("/charts/{name}")
def chart_part(request: Request, release: str, name: str) -> Response:
    """Return one chart, for the page to draw."""
    read = reading(request, release)
    return templates.part(request, "chart_part.html.jinja", chart=charts.chart(read.opened, name), base=read.base)


def _browse(
    request: Request,
    read: Reading,
    table: str,
    here: str,
    *,
    q: str,
    sort: str,
    order: str,
    context: str,
    start: int,
) -> Response:
    """Show a table, or what an htmx request asks for of it: all of it anew, or the rows that follow."""
    opened = read.opened
    browsed = opened.browsed(table, context or None)
    descending = {"": None, "up": False, "down": True}[order]
    page = browsed.page(q, sort=sort or None, descending=descending, start=start, size=ROWS)
    address = f"{read.base}/{here}".rstrip("/")
    asked = {"q": q, "sort": sort, "order": order, "context": context}
    shown: dict[str, Any] = {
        "columns": columns_of(browsed),
        "lines": lines_of(opened, browsed, page, read.base),
        "found": page,
        "asked": asked,
        "sorted_by": sort or browsed.sorted_by or "",
        "down": descending if descending is not None else not (sort and browsed.is_text(sort)),
        "address": address,
        "following": None if page.following is None else _link(address, asked, page.following),
        "interval": interval_words(opened.release) if {"low", "high"} <= set(browsed.columns) else "",
    }
    target = request.headers.get("hx-target")
    if target == "browse":
        return templates.part(request, "browse_part.html.jinja", **shown)
    if target == "following":
        return templates.part(request, "rows_part.html.jinja", **shown)
    return templates.page(
        request,
        "release.html.jinja",
        **{**read.shown(here), **shown},
        table=table,
        title=views.title_of(table),
        excerpts=views.part(opened).excerpts if not here else [],
        contexts=list(opened.release.contexts or ()) if opened.of_contexts and not here else [],
        across=across(opened.release),
        counted=counted_words(opened.release),
    )


def _link(address: str, asked: dict[str, str], start: int) -> str:
    return f"{address}?{urlencode({**{name: each for name, each in asked.items() if each}, 'start': start})}"


ROUTERS = (_all,)
