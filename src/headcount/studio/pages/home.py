"""The home page (new releases, own jobs and budgets) and the searchable list of releases."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.services.budgets import gauge
from headcount.studio.services.exploration.table_search import fold_text
from headcount.studio.studio import studio_of
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)

NEWEST = 6
JOBS_SHOWN = 5

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
        waiting=[entry for entry in releases if entry.state == "review"] if who.is_curator else [],
        jobs=studio.jobs.listed(who, most=JOBS_SHOWN),
        budgets=[
            (entry, gauge(studio.datasets.account(who, entry.id)))
            for entry in studio.datasets.listed(who)
            if entry.state == "open"
        ][:NEWEST],
    )


@_all.get("/releases")
def releases(request: Request, q: Search = "", family: Search = "") -> Response:
    """Show all releases that one may see, or those that a search finds."""
    visible = studio_of(request).releases.listed(visitor(request))
    words = fold_text(q).split()
    matching = [
        release
        for release in visible
        if (not family or release.family == family)
        and all(
            word in fold_text(f"{release.title} {release.note} {release.family} {release.dataset_name}")
            for word in words
        )
    ]
    shown: dict[str, Any] = {"releases": matching, "total": len(visible), "q": q, "family": family}
    if request.headers.get("hx-target") == "found":
        return templates.part(request, "release_cards.html.jinja", **shown)
    families = sorted({release.family for release in visible})
    return templates.page(request, "releases.html.jinja", families=families, **shown)


ROUTERS = (_all,)
