"""The page that compares two releases."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.compare import Comparison, comparable, compare
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.rows import heading, number
from headcount.studio.services.exploration.table_search import Row
from headcount.studio.services.releases import open_release
from headcount.studio.studio import Call
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)

ROWS = 50
_NUMBERS = ("first", "second", "difference", "low", "high")

Words = Annotated[str, Query(max_length=200)]
Place = Annotated[int, Query(ge=0, le=2**31)]


@_all.get("/compare")
def compare_page(
    call: Call, first: Words = "", second: Words = "", table: Words = "", q: Words = "", start: Place = 0
) -> Response:
    """Choose two releases, and show how they differ."""
    listed = call.studio.releases.listed(call.visitor)
    chosen = {"first": first, "second": second, "table": table, "q": q}
    if not (first and second):
        return templates.page(call.request, "compare.html.jinja", listed=listed, chosen=chosen, told=None)
    first_opened, second_opened = (open_release(call.studio, call.visitor, entry) for entry in (first, second))
    comparison = first_opened.opened.cached(
        ("compared", second_opened.stored.digest, table),
        lambda: compare(first_opened.opened, second_opened.opened, table or None),
    )
    page = comparison.rows.page(q, start=start, size=ROWS)
    shared = comparable(first_opened.opened.release, second_opened.opened.release)
    shown: dict[str, Any] = {
        "told": comparison,
        "page": page,
        "chosen": chosen,
        "rows": [_row(first_opened.opened, comparison, row) for row in page.rows],
        "headings": [heading(key) for key in comparison.keys],
    }
    if call.request.headers.get("hx-target") == "compared":
        return templates.part(call.request, "compare_part.html.jinja", **shown)
    return templates.page(
        call.request,
        "compare.html.jinja",
        listed=listed,
        one=first_opened.stored,
        other=second_opened.stored,
        tables=[(table, views.title_of(table)) for table in shared],
        **shown,
    )


def _row(opened: OpenedRelease, comparison: Comparison, row: Row) -> tuple[list[str], dict[str, str], Row]:
    """Return the names of a row, its numbers in words, and the row."""
    keys = comparison.keys
    names = [opened.name(key, row[key]) if row[key] is not None else "unknown" for key in keys]
    return names, {name: number(row[name], name) for name in _NUMBERS}, row


ROUTERS = (_all,)
