"""Pages of one item (counts by context, related items) and of the tags of a resource."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from headcount.reports.sentences import across, counted_words
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.pages.releases import Visible
from headcount.studio.services.exploration.item_profile import profile, related
from headcount.studio.services.exploration.rows import bar, columns_of, item_address, number, scale_of
from headcount.studio.studio import Call
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, prefix="/releases/{release}", include_in_schema=False)

MATCHES = 8
TAGS = 15

Words = Annotated[str, Query(max_length=2000)]


@_all.get("/items")
def item_by_query(call: Call, visible: Visible, item: Words) -> Response:
    """Show an item whose name makes no address."""
    return _item(call, visible, item)


@_all.get("/items/{item:path}")
def item_page(call: Call, visible: Visible, item: str) -> Response:
    """Show an item."""
    return _item(call, visible, item)


@_all.get("/related")
def related_page(call: Call, visible: Visible, q: Words = "", item: Words | None = None) -> Response:
    """Show the items that are related to one, or search for one."""
    held = visible.opened
    rows = held.browsed(held.item_table).page(q, size=MATCHES).rows if held.item_table else []
    chosen = None if item is None else held.item(item)
    return templates.page(
        call.request,
        "related.html.jinja",
        **visible.shown("related"),
        q=q,
        matches=[(row["item"], held.name("item", row["item"])) for row in rows],
        chosen=chosen,
        called="" if chosen is None else held.name("item", chosen),
        related=None if chosen is None else related(held, chosen),
        address=lambda entry: item_address(visible.base, entry),
    )


@_all.get("/tags")
def tags_page(call: Call, visible: Visible, q: Words = "", resource: Words | None = None) -> Response:
    """Show the tags of a resource, or search for one."""
    held, model = visible.opened, visible.opened.tags
    rows = held.browsed("model/resources").page(q, size=MATCHES).rows
    return templates.page(
        call.request,
        "tags.html.jinja",
        **visible.shown("tags"),
        q=q,
        matches=[(row["resource"], held.name("resource", row["resource"])) for row in rows],
        chosen=resource,
        called="" if resource is None else held.name("resource", resource),
        knows=resource is not None and model is not None and model.knows(resource),
        tags=[] if resource is None or model is None else model.recommend(resource, k=TAGS),
    )


def _item(call: Call, visible: Visible, item: str) -> Response:
    held = visible.opened
    shown = profile(held, item)
    scale = scale_of(held.browsed("edges")) if held.context_table == "edges" else None
    numbers = shown.numbers or {}
    columns = columns_of(held.browsed(held.item_table or "")) if numbers else []
    return templates.page(
        call.request,
        "item.html.jinja",
        **visible.shown(""),
        profile=shown,
        numbers=[
            (column.heading, number(numbers[column.name], column.name))
            for column in columns
            if column.kind == "number" and numbers[column.name] is not None
        ],
        rows=[(entry, None if scale is None else bar(vars(entry), scale)) for entry in shown.contexts],
        across=across(held.release),
        counted=counted_words(held.release),
        address=lambda entry: item_address(visible.base, entry),
    )


ROUTERS = (_all,)
