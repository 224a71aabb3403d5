"""Pages of one item (counts by context, related items) and of the tags of a resource."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.reports.sentences import across, counted_words
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.exploration.item_profile import profile, related
from headcount.studio.services.exploration.rows import bar, columns_of, item_address, number, scale_of
from headcount.studio.services.open_release import VisibleRelease, open_release
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, prefix="/releases/{release}", include_in_schema=False)

MATCHES = 8
TAGS = 15

Words = Annotated[str, Query(max_length=2000)]


@_all.get("/items")
def item_by_query(request: Request, release: str, item: Words) -> Response:
    """Show an item whose name makes no address."""
    return _item(request, open_release(request, release), item)


@_all.get("/items/{item:path}")
def item_page(request: Request, release: str, item: str) -> Response:
    """Show an item."""
    return _item(request, open_release(request, release), item)


@_all.get("/related")
def related_page(request: Request, release: str, q: Words = "", item: Words | None = None) -> Response:
    """Show what belongs to an item, or find one."""
    read = open_release(request, release)
    opened = read.opened
    rows = opened.browsed(opened.item_table or "").page(q, size=MATCHES).rows if opened.item_table else []
    chosen = None if item is None else opened.item(item)
    return templates.page(
        request,
        "related.html.jinja",
        **read.shown("related"),
        q=q,
        matches=[(entry["item"], opened.name("item", entry["item"])) for entry in rows],
        chosen=chosen,
        called="" if chosen is None else opened.name("item", chosen),
        related=None if chosen is None else related(opened, chosen),
        address=lambda entry: item_address(read.base, entry),
    )


@_all.get("/tags")
def tags_page(request: Request, release: str, q: Words = "", resource: Words | None = None) -> Response:
    """Show the tags of a resource, or find one."""
    read = open_release(request, release)
    opened, model = read.opened, read.opened.tags
    rows = opened.browsed("model/resources").page(q, size=MATCHES).rows
    return templates.page(
        request,
        "tags.html.jinja",
        **read.shown("tags"),
        q=q,
        matches=[(row["resource"], opened.name("resource", row["resource"])) for row in rows],
        chosen=resource,
        called="" if resource is None else opened.name("resource", resource),
        knows=resource is not None and model is not None and model.knows(resource),
        tags=[] if resource is None or model is None else model.recommend(resource, k=TAGS),
    )


def _item(request: Request, read: VisibleRelease, item: str) -> Response:
    opened = read.opened
    item_profile = profile(opened, item)
    browsed = None if opened.context_table != "edges" else opened.browsed("edges")
    scale = None if browsed is None else scale_of(browsed)
    rows = [
        (
            entry,
            None if scale is None else bar({"count": entry.count, "low": entry.low, "high": entry.high}, scale),
        )
        for entry in item_profile.contexts
    ]
    having = opened.item_table or ""
    shown = (
        []
        if item_profile.numbers is None
        else [
            (entry.heading, number(item_profile.numbers[entry.name], entry.name))
            for entry in columns_of(opened.browsed(having))
            if entry.kind == "number" and item_profile.numbers[entry.name] is not None
        ]
    )
    return templates.page(
        request,
        "item.html.jinja",
        **read.shown(""),
        profile=item_profile,
        numbers=shown,
        rows=rows,
        across=across(opened.release),
        counted=counted_words(opened.release),
        address=lambda entry: item_address(read.base, entry),
    )


ROUTERS = (_all,)
