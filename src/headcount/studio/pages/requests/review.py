"""The review page of curators: a release is published or withheld, with a title and a note."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.releases.release import load
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.forms.form_body import Sent, text
from headcount.studio.services.release_preview import first_rows
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/releases/{release}/review")
def review(request: Request, release: str) -> Response:
    """Show a release before anybody else sees it."""
    return _page(request, release)


@_curators.post("/releases/{release}/review")
def decide(request: Request, release: str, sent: Sent) -> Response:
    """Keep title and note, and publish or withhold if that was said."""
    releases, who = studio_of(request).releases, visitor(request)
    try:
        releases.retitle(who, release, title=text(sent, "title"), note=text(sent, "note"))
        decision = text(sent, "decision")
        if decision == "publish":
            releases.publish(who, release)
            return RedirectResponse(f"/releases/{release}", 303)
        if decision == "withhold":
            releases.withhold(who, release)
    except HeadcountError as error:
        return _page(request, release, error)
    return RedirectResponse(f"/releases/{release}/review", 303)


def _page(request: Request, release: str, error: HeadcountError | None = None) -> Response:
    studio, who = studio_of(request), visitor(request)
    held = studio.releases.get(who, release)
    loaded = load(studio.releases.folder_of(held))
    return templates.page(
        request,
        "review.html.jinja",
        status=200 if error is None else status_of(error),
        held=held,
        release=loaded,
        tables=first_rows(loaded),
        error=error,
    )


ROUTERS = (_curators,)
