"""One item of a release: its count, how it spreads over contexts, and what belongs to it; tags of a resource."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.reports.sentences import across, counted_words
from headcount.studio.access import Door, door
from headcount.studio.services.exploration.item_profile import profile, related
from headcount.studio.services.exploration.rows import bar, columns_of, item_address, number, scale_of
from headcount.studio.services.open_release import Reading, reading
from headcount.studio.web import templates

_all = door(Door.SIGNED_IN, prefix="/releases/{release}", include_in_schema=False)

MATCHES = 8
TAGS = 15

Words = Annotated[str, Query(max_length=2000)]


@_all.get("/items")
def item_by_query(request: Request, release: str, item: Words) -> Response:
    """Show an item whose name makes no address."""
    return _item(request, reading(request, release), item)


@_all.get("/items/{item:path}")
def item_page(request: Request, release: str, item: str) -> Response:
    """Show an item."""
    return _item(request, reading(request, release), item)


@_all.get("/related")
def related_page(request: Request, release: str, q: Words = "", item: Words | None = None) -> Response:
    """Show what belongs to an item, or find one."""
    read = reading(request, release)
    opened = read.opened
    found = opened.browsed(opened.of_items or "").page(q, size=MATCHES).rows if opened.of_items else []
    chosen = None if item is None else opened.item(item)
    return templates.page(
        request,
        "related.html.jinja",
        **read.shown("related"),
        q=q,
        matches=[(each["item"], opened.name("item", each["item"])) for each in found],
        chosen=chosen,
        called="" if chosen is None else opened.name("item", chosen),
        related=None if chosen is None else related(opened, chosen),
        address=lambda each: item_address(read.base, each),
    )


@_all.get("/tags")
def tags_page(request: Request, release: str, q: Words = "", resource: Words | None = None) -> Response:
    """Show the tags of a resource, or find one."""
    read = reading(request, release)
    opened, model = read.opened, read.opened.tags
    found = opened.browsed("model/resources").page(q, size=MATCHES).rows
    return templates.page(
        request,
        "tags.html.jinja",
        **read.shown("tags"),
        q=q,
        matches=[(each["resource"], opened.name("resource", each["resource"])) for each in found],
        chosen=resource,
        called="" if resource is None else opened.name("resource", resource),
        knows=resource is not None and model is not None and model.knows(resource),
        tags=[] if resource is None or model is None else model.recommend(resource, k=TAGS),
    )


def _item(request: Request, read: Reading, item: str) -> Response:
    opened = read.opened
    told = profile(opened, item)
    browsed = None if opened.of_contexts != "edges" else opened.browsed("edges")
    scale = None if browsed is None else scale_of(browsed)
    rows = [
        (each, None if scale is None else bar({"count": each.count, "low": each.low, "high": each.high}, scale))
        for each in told.contexts
    ]
    having = opened.of_items or ""
    shown = (
        []
        if told.numbers is None
        else [
            (each.heading, number(told.numbers[each.name], each.name))
            for each in columns_of(opened.browsed(having))
            if each.kind == "number" and told.numbers[each.name] is not None
        ]
    )
    return templates.page(
        request,
        "item.html.jinja",
        **read.shown(""),
        profile=told,
        numbers=shown,
        rows=rows,
        across=across(opened.release),
        counted=counted_words(opened.release),
        address=lambda each: item_address(read.base, each),
    )


ROUTERS = (_all,)
