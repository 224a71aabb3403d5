"""Where everybody begins: what was published, what one may spend and asked for; all releases, to be searched."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.studio.access import Door, door, visitor
from headcount.studio.services.budgets import gauge
from headcount.studio.services.exploration.table_search import fold
from headcount.studio.studio import studio_of
from headcount.studio.web import templates

_all = door(Door.SIGNED_IN, include_in_schema=False)

NEWEST = 6
ASKED = 5

Search = Annotated[str, Query(max_length=200)]


@_all.get("/")
def home(request: Request) -> Response:
    """Show what is new."""
    studio, who = studio_of(request), visitor(request)
    releases = studio.releases.listed(who)
    return templates.page(
        request,
        "home.html.jinja",
        releases=releases[:NEWEST],
        more=len(releases) > NEWEST,
        waiting=[each for each in releases if each.state == "review"] if who.is_curator else [],
        jobs=studio.jobs.listed(who, most=ASKED),
        budgets=[
            (each, gauge(studio.datasets.account(who, each.id)))
            for each in studio.datasets.listed(who)
            if each.state == "open"
        ][:NEWEST],
    )


@_all.get("/releases")
def releases(request: Request, q: Search = "", family: Search = "") -> Response:
    """Show all releases that one may see, or those that a search finds."""
    known = studio_of(request).releases.listed(visitor(request))
    words = fold(q).split()
    found = [
        each
        for each in known
        if (not family or each.family == family)
        and all(word in fold(f"{each.title} {each.note} {each.family} {each.dataset_name}") for word in words)
    ]
    shown: dict[str, Any] = {"releases": found, "total": len(known), "q": q, "family": family}
    if request.headers.get("hx-target") == "found":
        return templates.part(request, "release_cards.html.jinja", **shown)
    families = sorted({each.family for each in known})
    return templates.page(request, "releases.html.jinja", families=families, **shown)


ROUTERS = (_all,)
