"""The home page (new releases, own jobs and budgets) and the searchable list of releases."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.budgets import gauge
from headcount.studio.services.exploration.table_search import fold_text
from headcount.studio.studio import Call
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)

NEWEST = 6
JOBS_SHOWN = 5

Search = Annotated[str, Query(max_length=200)]


@_all.get("/")
def home(call: Call) -> Response:
    """Show what is new."""
    studio, who = call.studio, call.visitor
    releases = studio.releases.listed(who)
    open_datasets = [dataset for dataset in studio.datasets.listed(who) if dataset.state == "open"][:NEWEST]
    return templates.page(
        call.request,
        "home.html.jinja",
        releases=releases[:NEWEST],
        more=len(releases) > NEWEST,
        waiting=[entry for entry in releases if entry.state == "review"] if who.is_curator else [],
        jobs=studio.jobs.listed(who, most=JOBS_SHOWN),
        budgets=[(dataset, gauge(studio.datasets.account(who, dataset.id))) for dataset in open_datasets],
    )


@_all.get("/releases")
def releases(call: Call, q: Search = "", family: Search = "") -> Response:
    """Show all releases that the visitor sees, or those that a search finds."""
    visible = call.studio.releases.listed(call.visitor)
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
    if call.request.headers.get("hx-target") == "found":
        return templates.part(call.request, "release_cards.html.jinja", **shown)
    families = sorted({release.family for release in visible})
    return templates.page(call.request, "releases.html.jinja", families=families, **shown)


ROUTERS = (_all,)
