"""Pages of a release: tables with search, contexts, heat map, topics, charts, guarantee."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlencode

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from headcount.reports.sentences import across, counted_words, date_in_words, interval_words, meaning
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.pages.releases import Visible
from headcount.studio.services import charts
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.item_contexts import grid, has_item_contexts, items_with_lift
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.rows import columns_of, table_rows
from headcount.studio.studio import Call
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, prefix="/releases/{release}", include_in_schema=False)

ROWS = 50
"""Rows that are loaded at once; more are loaded when the page is scrolled."""

Words = Annotated[str, Query(max_length=200)]
Text = Annotated[str, Field(max_length=200)]


class _Selection(BaseModel):
    """Which rows of a table are shown, in which order, from which place on."""

    q: Text = ""
    sort: Text = ""
    order: Literal["", "up", "down"] = ""
    context: Text = ""
    start: Annotated[int, Field(ge=0, le=2**31)] = 0

    def link(self, address: str, start: int) -> str:
        """Return the address of the same rows from another place on."""
        query = {name: value for name, value in self.model_dump().items() if value} | {"start": start}
        return f"{address}?{urlencode(query)}"


Selection: TypeAlias = Annotated[_Selection, Query()]


@_all.get("")
def release_page(call: Call, visible: Visible, selection: Selection) -> Response:
    """Show the main table of a release."""
    held = visible.opened
    table = (held.context_table if selection.context else None) or held.main or ""
    return _browse(call, visible, table, "", selection)


@_all.get("/tables/{table:path}")
def table_page(call: Call, visible: Visible, table: str, selection: Selection) -> Response:
    """Show one of its tables."""
    return _browse(call, visible, table, f"tables/{table}", selection)


@_all.get("/contexts")
def contexts_page(call: Call, visible: Visible, context: Words = "") -> Response:
    """Show the largest items of one context, and those that stand out there."""
    held = visible.opened
    contexts = held.release.contexts or ()
    chosen = context or _first_context_with_lift(held) or next(iter(contexts), "")
    compares = has_item_contexts(held.release)
    shown: dict[str, Any] = {"lines": [], "columns": [], "standing": []}
    if chosen and held.context_table is not None:
        browsed = held.browsed(held.context_table, chosen)
        lifted = items_with_lift(held, chosen, 10) if compares else []
        shown = {
            "lines": table_rows(held, browsed, browsed.page(size=10), visible.base),
            "columns": columns_of(browsed),
            "standing": [(held.name("item", entry.item), entry) for entry in lifted],
        }
    return templates.page(
        call.request,
        "contexts.html.jinja",
        **visible.shown("contexts"),
        contexts=contexts,
        chosen=chosen,
        compares=compares,
        **_words(held),
        **shown,
    )


def _first_context_with_lift(opened: OpenedRelease) -> str | None:
    """Return the first context in which an item stands out, to begin with."""
    contexts = opened.release.contexts or () if has_item_contexts(opened.release) else ()
    return next((context for context in contexts if items_with_lift(opened, context, 1)), None)


@_all.get("/heat")
def heat_page(call: Call, visible: Visible, q: Words = "") -> Response:
    """Show the largest items, or those of a search, over all contexts."""
    shown: dict[str, Any] = {
        "grid": grid(visible.opened, q),
        "q": q,
        "base": visible.base,
        **_words(visible.opened),
    }
    if call.request.headers.get("hx-target") == "heat":
        return templates.part(call.request, "heat_part.html.jinja", **shown)
    return templates.page(call.request, "heat.html.jinja", **{**visible.shown("heat"), **shown})


@_all.get("/topics")
def topics_page(call: Call, visible: Visible) -> Response:
    """Show the topics of tags."""
    topics = views.topics(visible.opened)
    return templates.page(call.request, "topics.html.jinja", **visible.shown("topics"), topics=topics)


@_all.get("/promise")
def promise_page(call: Call, visible: Visible) -> Response:
    """Show the guarantee of a release, and how it was made, in plain words."""
    held = visible.opened.release
    return templates.page(
        call.request,
        "promise.html.jinja",
        **visible.shown("promise"),
        meaning=meaning(held),
        sentences=held.sentences(),
        created=date_in_words(held.created),
    )


@_all.get("/charts")
def charts_part(call: Call, visible: Visible) -> Response:
    """Return the places of all charts, which are drawn when they are scrolled to."""
    held = visible.opened
    if held.main is not None:
        held.browsed(held.main).warm()
    figures = list(charts.charts(held).values())
    return templates.part(call.request, "charts_part.html.jinja", charts=figures, base=visible.base)


@_all.get("/charts/{name}")
def chart_part(call: Call, visible: Visible, name: str) -> Response:
    """Return one chart, for the page to draw."""
    chart = charts.chart(visible.opened, name)
    return templates.part(call.request, "chart_part.html.jinja", chart=chart, base=visible.base)


def _browse(call: Call, visible: Visible, table: str, here: str, selection: _Selection) -> Response:
    """Show a table, or the part of it that an htmx request asks for: the whole table, or the rows that follow."""
    held, sort = visible.opened, selection.sort
    browsed = held.browsed(table, selection.context or None)
    descending = {"": None, "up": False, "down": True}[selection.order]
    page = browsed.page(selection.q, sort=sort or None, descending=descending, start=selection.start, size=ROWS)
    address = f"{visible.base}/{here}".rstrip("/")
    shown: dict[str, Any] = {
        "columns": columns_of(browsed),
        "lines": table_rows(held, browsed, page, visible.base),
        "found": page,
        "asked": selection,
        "sorted_by": sort or browsed.sorted_by or "",
        "down": descending if descending is not None else not (sort and browsed.is_text(sort)),
        "address": address,
        "following": None if page.following is None else selection.link(address, page.following),
        "interval": interval_words(held.release) if {"low", "high"} <= set(browsed.columns) else "",
    }
    target = call.request.headers.get("hx-target")
    if target in ("browse", "following"):
        part = "browse_part.html.jinja" if target == "browse" else "rows_part.html.jinja"
        return templates.part(call.request, part, **shown)
    return templates.page(
        call.request,
        "release.html.jinja",
        **{**visible.shown(here), **shown},
        table=table,
        title=views.title_of(table),
        excerpts=views.part(held).excerpts if not here else [],
        contexts=list(held.release.contexts or ()) if held.context_table and not here else [],
        **_words(held),
    )


def _words(opened: OpenedRelease) -> dict[str, Any]:
    """Return what a release counts, and over what, in words."""
    return {"across": across(opened.release), "counted": counted_words(opened.release)}


ROUTERS = (_all,)
