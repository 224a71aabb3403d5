"""Pages of a release: tables with search, contexts, heat map, topics, charts, guarantee."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.reports.sentences import across, counted_words, date_in_words, interval_words, meaning
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services import charts
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.heat_map import grid
from headcount.studio.services.exploration.lift import has_item_contexts, items_with_lift
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.rows import columns_of, table_rows
from headcount.studio.services.open_release import VisibleRelease, open_release
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, prefix="/releases/{release}", include_in_schema=False)

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
    read = open_release(request, release)
    table = read.opened.main or ""
    if context and read.opened.context_table:
        table = read.opened.context_table
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
    read = open_release(request, release)
    here = f"tables/{table}"
    return _browse(request, read, table, here, q=q, sort=sort, order=order, context=context, start=start)


@_all.get("/contexts")
def contexts_page(request: Request, release: str, context: Words = "") -> Response:
    """Show what is popular in one context, and what stands out there."""
    read = open_release(request, release)
    opened = read.opened
    contexts = opened.release.contexts or ()
    chosen = context or _first_context_with_lift(opened) or next(iter(contexts), "")
    table = opened.context_table
    shown: dict[str, Any] = {"lines": [], "columns": [], "standing": []}
    if chosen and table is not None:
        browsed = opened.browsed(table, chosen)
        shown = {
            "lines": table_rows(opened, browsed, browsed.page(size=10), read.base),
            "columns": columns_of(browsed),
            "standing": [
                (opened.name("item", lifted.item), lifted) for lifted in items_with_lift(opened, chosen, 10)
            ]
            if has_item_contexts(opened.release)
            else [],
        }
    return templates.page(
        request,
        "contexts.html.jinja",
        **read.shown("contexts"),
        contexts=contexts,
        chosen=chosen,
        compares=has_item_contexts(opened.release),
        across=across(opened.release),
        counted=counted_words(opened.release),
        **shown,
    )


def _first_context_with_lift(opened: OpenedRelease) -> str | None:
    """Return the first context in which something stands out, to begin with."""
    contexts = opened.release.contexts or () if has_item_contexts(opened.release) else ()
    return next((context for context in contexts if items_with_lift(opened, context, 1)), None)


@_all.get("/heat")
def heat_page(request: Request, release: str, q: Words = "") -> Response:
    """Show the largest items, or those that are searched for, over all contexts."""
    read = open_release(request, release)
    heat_map = grid(read.opened, q)
    shown: dict[str, Any] = {
        "grid": heat_map,
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
    read = open_release(request, release)
    return templates.page(request, "topics.html.jinja", **read.shown("topics"), topics=views.topics(read.opened))


@_all.get("/promise")
def promise_page(request: Request, release: str) -> Response:
    """Say in plain words what is promised, and how it was made."""
    read = open_release(request, release)
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
    read = open_release(request, release)
    if read.opened.main is not None:
        read.opened.browsed(read.opened.main).warm()
    figures = list(charts.charts(read.opened).values())
    return templates.part(request, "charts_part.html.jinja", charts=figures, base=read.base)


@_all.get("/charts/{name}")
def chart_part(request: Request, release: str, name: str) -> Response:
    """Return one chart, for the page to draw."""
    read = open_release(request, release)
    return templates.part(request, "chart_part.html.jinja", chart=charts.chart(read.opened, name), base=read.base)


def _browse(
    request: Request,
    read: VisibleRelease,
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
    query = {"q": q, "sort": sort, "order": order, "context": context}
    shown: dict[str, Any] = {
        "columns": columns_of(browsed),
        "lines": table_rows(opened, browsed, page, read.base),
        "found": page,
        "asked": query,
        "sorted_by": sort or browsed.sorted_by or "",
        "down": descending if descending is not None else not (sort and browsed.is_text(sort)),
        "address": address,
        "following": None if page.following is None else _link(address, query, page.following),
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
        contexts=list(opened.release.contexts or ()) if opened.context_table and not here else [],
        across=across(opened.release),
        counted=counted_words(opened.release),
    )


def _link(address: str, query: dict[str, str], start: int) -> str:
    return f"{address}?{urlencode({**{name: value for name, value in query.items() if value}, 'start': start})}"


ROUTERS = (_all,)
